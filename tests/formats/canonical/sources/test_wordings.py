"""Plans as different people write them: each is read as a person would read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from holdfast.formats.canonical.sources import Declaration, Looked


class Plan(NamedTuple):
    """A plan, and where a reader says that its work is."""

    text: str
    current: int
    total: int
    name: str
    next_action: str | None


PLANS = {
    "steps with their own headings": Plan(
        "**Status:** In Progress (started 2026-03-02)\n\n### Step 1: Add the table ✅\n- [x] Migration\n\n### Step 2: Write the worker\n- [x] Poll\n- [ ] Retry with backoff,\n      at most five times\n\n### Step 3: Switch the callers\n- [ ] signup\n\n## Verification\n- [ ] run it\n",
        2, 3, "Write the worker", "Retry with backoff, at most five times",
    ),
    "a table, and headings for some of its phases": Plan(
        "**Статус:** в работе\n\n| № | Этап | Статус |\n|---|---|---|\n| 1 | Подготовка | ✅ готово |\n| 2 | Перенос | 🔄 в работе |\n| 3 | Проверка | ⏳ ожидает |\n\n## Этап 2. Перенос\n- [x] Люди\n- [ ] Заказы\n",
        2, 3, "Перенос", "Заказы",
    ),
    "a sprint that has only its dates for a name": Plan(
        "## Sprint 3 (2026-05-01 – 2026-05-14) — IN PROGRESS\n- [x] Toolbar\n- [ ] Undo\n\n## Sprint 2 — DONE\n- [x] Storage\n\n## Sprint 1 — DONE\n- [x] Set-up\n",
        3, 3, "Sprint 3", "Undo",
    ),
    "bold items with a status and a sentence": Plan(
        "- **Phase 1 – Inventory**: DONE\n- **Phase 2 – Shims**: IN PROGRESS. Two of five are written.\n- **Phase 3 – Switch**: TODO\n",
        2, 3, "Shims", None,
    ),
    "a table of steps": Plan(
        "**Status**: In progress\n\n| # | Step | Owner | Status |\n|---|---|---|---|\n| 1 | Extract auth | A | Done |\n| 2 | Extract billing | B | In Progress |\n| 3 | Extract search | C | Pending |\n",
        2, 3, "Extract billing", None,
    ),
    "a table with boxes": Plan(
        "Status: in progress\n\n| Done | Step | Notes |\n|---|---|---|\n| [x] | Step 1: Read | |\n| [ ] | Step 2: Map | hard |\n| [ ] | Step 3: Write | |\n",
        2, 3, "Map", None,
    ),
    "headings with boxes": Plan(
        "Status: in progress\n\n## [x] Phase 1: Extract\n## [ ] Phase 2: Replace\n- billing\n## [ ] Phase 3: Delete\n",
        2, 3, "Replace", None,
    ),
    "a list of statuses above the phases": Plan(
        "- Phase 1: Complete\n- Phase 2: In Progress\n- Phase 3: Not Started\n\n## Phase 1: Foundations\n## Phase 2: Screens\n## Phase 3: Ship\n",
        2, 3, "Screens", None,
    ),
    "folded sections": Plan(
        "**Status:** in progress\n\n<details>\n<summary>✅ Phase 1: Setup</summary>\n\n- [x] repo\n\n</details>\n\n<details open>\n<summary>🔄 <b>Phase 2: Parser</b></summary>\n\n- [x] lexer\n- [ ] grammar\n\n</details>\n",
        2, 2, "Parser", "grammar",
    ),
    "boxes without bullets": Plan(
        "Status: in progress\n\n## Phase 1: Setup\n[x] repo\n[x] builds\n\n## Phase 2: Build\n[x] one\n[ ] two\n[ ] three\n",
        2, 2, "Build", "two",
    ),
    "signs without bullets": Plan(
        "Status: in progress\n\n## Phase 1: Setup\n✅ repo\n✅ builds\n\n## Phase 2: Build\n✅ one\n⬜ two\n",
        2, 2, "Build", "two",
    ),
    "phases on plain lines": Plan(
        "Status: in progress\n\nPhase 1: Setup (done)\nPhase 2: Build (in progress)\nPhase 3: Test\n",
        2, 3, "Build", None,
    ),
    "words for boxes": Plan(
        "Status: in progress\n\n## Phase 1: Read\n- DONE: open it\n\n## Phase 2: Write\n- TODO: close it\n",
        2, 2, "Write", "close it",
    ),
    "items that are struck out": Plan(
        "Status: in progress\n\n## Phase 1: Collect\n1. ~~Samples~~\n2. ~~Labels~~\n\n## Phase 2: Train\n1. ~~Set up~~\n2. Run\n3. Compare\n",
        2, 2, "Train", "Run",
    ),
    "a status that is a phase": Plan(
        "## Current Status: Phase 3\n\n## Phase 1: Read ✅\n## Phase 2: Map ✅\n## Phase 3: Write\n- [ ] insert\n",
        3, 3, "Write", "insert",
    ),
    "a status that speaks of a phase": Plan(
        "**Status:** mid-way through Phase 2\n\n## Phase 1: Interface\n## Phase 2: Backends\n- [x] memory\n- [ ] disk\n## Phase 3: Docs\n",
        2, 3, "Backends", "disk",
    ),
    "criteria for boxes": Plan(
        "Status: in progress\n\n### Task 1: Toggle\n**Acceptance Criteria:**\n- [x] on\n- [x] off\n\n### Task 2: Persist\n**Acceptance Criteria:**\n- [ ] survives a restart\n\n### Task 3: Sync\n",
        2, 3, "Persist", "survives a restart",
    ),
    "batches": Plan(
        "Status: in progress\n\n## Batch 1: Models\n- [x] a\n## Batch 2: Views\n- [ ] b\n## Batch 3: Tests\n- [ ] c\n",
        2, 3, "Views", "b",
    ),
    "letters for numbers": Plan(
        "Status: in progress\n\n## Track A: Models\n- [x] a\n## Track B: Views\n- [ ] b\n",
        2, 2, "Views", "b",
    ),
    "Chinese numerals": Plan(
        "状态：进行中\n\n## 一、准备\n- [x] 建表\n## 二、实现\n- [ ] 接口\n## 三、上线\n- [ ] 发布\n",
        2, 3, "实现", "接口",
    ),
    "Chinese ordinals and a next step": Plan(
        "当前阶段：第二阶段\n\n| 阶段 | 内容 | 状态 |\n|---|---|---|\n| 阶段1 | 需求分析 | 已完成 |\n| 阶段2 | 后端开发 | 进行中 |\n| 阶段3 | 前端开发 | 未开始 |\n\n下一步：完成登录接口\n",
        2, 3, "后端开发", "完成登录接口",
    ),
    "Japanese brackets": Plan(
        "## ステップ1：準備 【完了】\n## ステップ2：移行 【進行中】\n- [ ] ユーザー表\n## ステップ3：確認 【未着手】\n",
        2, 3, "移行", "ユーザー表",
    ),
    "Korean phases before their number": Plan(
        "상태: 진행 중\n\n- [x] 1단계: 조사\n- [ ] 2단계: 구현\n- [ ] 3단계: 검증\n\n다음 단계: 파서를 작성\n",
        2, 3, "구현", "파서를 작성",
    ),
    "a numbered list of which the end has no boxes": Plan(
        "Статус: выполняется\n\n## 1. Подготовка — готово\n## 2. Перенос — в процессе\n- [ ] заказы\n## 3. Проверка\n",
        2, 3, "Перенос", "заказы",
    ),
    "a Turkish table with descriptions": Plan(
        "**Durum:** Devam Ediyor\n\n| Aşama | Açıklama | Durum |\n|---|---|---|\n| 1 | Tasarım | Tamamlandı |\n| 2 | Geliştirme | Devam ediyor |\n| 3 | Test | Bekliyor |\n",
        2, 3, "Geliştirme", None,
    ),
    "a Spanish table with descriptions": Plan(
        "Estado: En curso\n\n| Fase | Descripción | Estado |\n|---|---|---|\n| 1 | Diseño | ✅ Completado |\n| 2 | Desarrollo | 🔄 En curso |\n| 3 | Pruebas | ⏳ Pendiente |\n\nSiguiente paso: escribir el controlador\n",
        2, 3, "Desarrollo", "escribir el controlador",
    ),
    "a German table with a state": Plan(
        "**Status:** in Umsetzung\n\n| Nr. | Schritt | Stand |\n|---|---|---|\n| 1 | Analyse | erledigt |\n| 2 | Umbau | läuft |\n| 3 | Abnahme | offen |\n",
        2, 3, "Umbau", None,
    ),
    "a French list with parts": Plan(
        "Statut : En cours (60 %)\n\n- [x] **Étape 1 :** Audit\n- [ ] **Étape 2 :** Corrections\n  - [x] CSS\n  - [ ] JS\n- [ ] **Étape 3 :** Recette\n",
        2, 3, "Corrections", "JS",
    ),
    "Portuguese stages in brackets": Plan(
        "- **Status:** em andamento\n\n### Etapa 1: Levantamento [concluída]\n### Etapa 2: Desenvolvimento [em andamento]\n- [x] login\n- [ ] cadastro\n### Etapa 3: Entrega [pendente]\n",
        2, 3, "Desenvolvimento", "cadastro",
    ),
    "an Italian phase in its status": Plan(
        "**Stato:** in corso — Fase 2 di 3\n\n## Fase 1: Analisi ✅\n## Fase 2: Sviluppo\n1. [x] Parser\n2. [ ] Generatore\n## Fase 3: Rilascio\n",
        2, 3, "Sviluppo", "Generatore",
    ),
}  # fmt: skip


def read(looked: Looked) -> Declaration:
    assert looked.declaration is not None, looked.reason
    return looked.declaration


@pytest.mark.parametrize("wording", PLANS)
def test_a_plan_as_somebody_writes_it(plan: Callable[[str], Looked], wording: str) -> None:
    wanted = PLANS[wording]
    found = read(plan(f"# Shop\n\n{wanted.text}"))
    assert found.phase is not None
    assert found.phase[:3] == (wanted.current, wanted.total, wanted.name)
    (phase,) = [phase for phase in found.phases if phase.number == wanted.current]
    assert (found.next_action or phase.next_action) == wanted.next_action


@pytest.mark.parametrize(
    ("text", "next_action"),
    [
        ("- DONE: read\n- WIP: write\n- TODO: test\n", "write"),
        ("Status: in progress\n\n1. ~~Collect~~\n2. ~~Label~~\n3. Train\n4. Compare\n", "Train"),
        ("Status: in progress\n\n[x] read\n[ ] write\n", "write"),
    ],
)
def test_a_list_without_phases(plan: Callable[[str], Looked], text: str, next_action: str) -> None:
    found = read(plan(f"# Shop\n\n{text}"))
    assert (found.phases, found.next_action) == ((), next_action)


@pytest.mark.parametrize(
    "text",
    [
        "✅ All checks pass.\n\nProse about it.\n",
        "- ~~an old remark~~\n\nProse about it.\n",
        "Phase 1: this is where we found out that nothing of it works.\n",
        "Stand: 2026-03-04\n",
    ],
)
def test_remarks_are_no_work(plan: Callable[[str], Looked], text: str) -> None:
    """A sign before a single sentence is no box, and what was struck out alone leaves nothing open."""
    looked = plan(f"# Shop\n\nStatus: in progress\n\n{text}")
    assert looked.candidate is None or not looked.candidate.declaration.open_items
    assert looked.declaration is None or not looked.declaration.phases
