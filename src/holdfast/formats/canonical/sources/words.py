"""The words and signs of the grammar for plans, language by language.

A plan is headings, boxes, list items, tables and words of status. This is what they are called:

- A *phase* is a heading, a line in bold, a box, a row or an item that has one of the nouns below and a
  number ("Phase 2", "第二阶段", "M3"), a numbered heading that carries boxes or a status, or a heading or item
  in bold that carries boxes. *Steps* are phases where nothing else is. One list of a plan are its phases, and the other
  lists tell about them.
- A *box* is `[ ]` or `[x]`, and what people put in its place: a sign, or a word of status in brackets.
- A *status* is a word or a sign below, in a field, a cell, a box, behind a title, or as a heading over items.

The current phase is the one that the plan states; else the first that is marked as running and is not overtaken; else the first
that is not finished, behind the last that is. A plan is *active* if it says that work is running and has something to
follow, a *candidate* if only its ticks or phases suggest it, and else no plan.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Word: TypeAlias = Literal[
    "in_progress", "blocked", "on_hold", "completed", "cancelled", "not_started"
]

# What a phase is called, and a step, which is a phase only where nothing else is.
PHASES = {
    "English": "phase, milestone, stage, sprint, iteration, part, wave, epic, slice, round, week, day, batch, chunk, increment, track",
    "German": "phase, meilenstein, etappe, stufe, abschnitt, teil, iteration, woche",
    "French": "phase, jalon, étape, partie, itération, semaine",
    "Spanish": "fase, hito, etapa, parte, iteración, semana",
    "Portuguese": "fase, marco, etapa, parte, iteração, semana",
    "Italian": "fase, traguardo, tappa, parte, iterazione, settimana",
    "Russian": "фаза, веха, этап, часть, спринт, итерация, неделя",
    "Turkish": "faz, aşama, kilometre taşı, bölüm, hafta",
    "Chinese": "阶段, 階段, 里程碑, 部分, 迭代, 期",
    "Japanese": "フェーズ, マイルストーン, 段階, スプリント",
    "Korean": "단계, 마일스톤, 페이즈, 스프린트",
}
STEPS = {
    "English": "step, task, story, item, workstream, module",
    "German": "schritt, aufgabe",
    "French": "pas, tâche",
    "Spanish": "paso, tarea",
    "Portuguese": "passo, tarefa",
    "Italian": "passo, passaggio, compito, attività",
    "Russian": "шаг, задача",
    "Turkish": "adım, görev",
    "Chinese": "步骤, 步驟, 任务, 任務",
    "Japanese": "ステップ, タスク, 手順",
    "Korean": "스텝, 작업, 태스크",
}
# These are said of other things, too: a mere mention names no phase.
VAGUE = (
    "part, round, week, day, batch, chunk, increment, track, item, module, story, slice, teil, parte, partie, часть, 部分, 期, semana, semaine, woche, "
    "settimana, неделя, hafta, abschnitt, bölüm, stufe, pas, passo, paso, step, task"
)
CODES = {"phase": "mps", "step": "t"}  # M0, P1, S2, T003

# A "_" may be a space, a hyphen, a low line or nothing; "a?" may be missing, and "[oa]" is one of them.
STATUSES: dict[Word, dict[str, str]] = {
    "in_progress": {
        "English": "in_progress, active, ongoing, wip, work in progress, under_way, in_development, in_flight, executing, current, "
        "implementing, doing, partial, partially_completed?, partially_done, nearly_done, nearly_completed?, almost_done, almost_completed?, mostly_done, "
        "mostly_completed?",
        "German": "in arbeit, in bearbeitung, läuft, laufend, begonnen, angefangen, in umsetzung, teilweise fertig",
        "French": "en_cours, commencée?, débutée?",
        "Spanish": "en curso, en progreso, en proceso, en marcha, en desarrollo, iniciad[oa]",
        "Portuguese": "em andamento, em progresso, em curso, em desenvolvimento, iniciad[oa]",
        "Italian": "in corso, in lavorazione, iniziat[oa], avviat[oa]",
        "Russian": "в работе, в процессе, выполняется, идёт, начат[оа]?",
        "Turkish": "devam ediyor, devam etmekte, sürüyor, çalışılıyor, başladı",
        "Chinese": "进行中, 進行中, 正在进行, 正在進行, 开发中, 開發中, 部分完成",
        "Japanese": "進行中, 作業中, 実装中, 開発中, 対応中, 着手",
        "Korean": "진행_중, 작업_중, 개발_중, 진행",
    },
    "blocked": {
        "English": "blocked, stuck",
        "German": "blockiert, gesperrt",
        "French": "bloquée?",
        "Spanish": "bloquead[oa]",
        "Portuguese": "bloquead[oa]",
        "Italian": "bloccat[oa]",
        "Russian": "заблокирован[оа]?",
        "Turkish": "engellendi, bloke",
        "Chinese": "阻塞, 受阻, 被阻塞",
        "Japanese": "ブロック中?, 停滞",
        "Korean": "차단됨?, 막힘",
    },
    "on_hold": {
        "English": "on_hold, paused, parked, suspended, deferred, postponed, shelved, future, optional",
        "German": "pausiert, angehalten, zurückgestellt, verschoben, aufgeschoben",
        "French": "en pause, suspendue?, reportée?, différée?",
        "Spanish": "en pausa, en espera, pausad[oa], suspendid[oa], aplazad[oa], pospuest[oa]",
        "Portuguese": "em pausa, pausad[oa], suspens[oa], adiad[oa], em espera",
        "Italian": "in pausa, in attesa, sospes[oa], rimandat[oa], rinviat[oa]",
        "Russian": "на паузе, приостановлен[оа]?, отложен[оа]?",
        "Turkish": "beklemede, duraklatıldı, ertelendi, askıda",
        "Chinese": "暂停, 暫停, 搁置, 擱置, 推迟, 延期",
        "Japanese": "保留, 一時停止, 延期, 中断",
        "Korean": "보류, 일시_중지, 연기",
    },
    "completed": {
        "English": "completed?, done, finished, shipped, closed, merged, released, delivered, implemented, deployed, "
        "resolved, feature_complete, landed",
        "German": "fertig, erledigt, abgeschlossen, beendet, umgesetzt",
        "French": "terminée?s?, finie?s?, achevée?s?, complétée?s?, faite?s?, livrée?s?",
        "Spanish": "completad[oa]s?, terminad[oa]s?, hech[oa]s?, finalizad[oa]s?, cerrad[oa]s?, list[oa]s?",
        "Portuguese": "concluíd[oa]s?, completad[oa]s?, finalizad[oa]s?, feit[oa]s?, terminad[oa]s?, pront[oa]s?",
        "Italian": "completat[oaie], terminat[oaie], fatt[oaie], finit[oaie], conclus[oaie]",
        "Russian": "завершен[оаы]?, завершён[оаы]?, готов[оаы]?, сделан[оаы]?, выполнен[оаы]?, закончен[оаы]?",
        "Turkish": "tamamlandı, bitti, yapıldı, tamam",
        "Chinese": "已完成, 完成, 已实现, 已完结, 已上线, 已关闭, 全部完成",
        "Japanese": "完了, 完成, 実装済み?, 対応済み?, 済み?, 終了",
        "Korean": "완료됨?, 완성, 끝, 구현_완료",
    },
    "cancelled": {
        "English": "cancell?ed, abandoned, superseded, skipped, dropped, obsolete, rejected, withdrawn, won't_do, wont_do, wont_fix, won't_fix",
        "German": "abgebrochen, verworfen, entfällt, gestrichen",
        "French": "annulée?, abandonnée?, ignorée?",
        "Spanish": "cancelad[oa], abandonad[oa], descartad[oa], omitid[oa]",
        "Portuguese": "cancelad[oa], abandonad[oa], descartad[oa]",
        "Italian": "annullat[oa], abbandonat[oa], scartat[oa]",
        "Russian": "отмен[её]н[оа]?, отклонен[оа]?, пропущен[оа]?",
        "Turkish": "iptal, iptal edildi, vazgeçildi, atlandı",
        "Chinese": "已取消, 取消, 已废弃, 废弃, 放弃, 跳过",
        "Japanese": "中止, キャンセル, 取り?消し, 廃止",
        "Korean": "취소됨?, 폐기, 건너뜀",
    },
    "not_started": {
        "English": "not_started, not_yet_started, not_begun, not_done, planned, planning, pending, draft, proposed, proposal, to_do, queued, upcoming, scheduled, "
        "backlog, ready, open, new, next",
        "German": "nicht begonnen, geplant, offen, ausstehend, entwurf, noch offen, zu tun",
        "French": "non commencée?, pas commencée?, à faire, prévue?, planifiée?, en attente, brouillon",
        "Spanish": "no iniciad[oa], sin empezar, sin iniciar, pendientes?, por hacer, planificad[oa], planead[oa], borrador",
        "Portuguese": "não iniciad[oa], pendentes?, a fazer, por fazer, planejad[oa], planead[oa], rascunho",
        "Italian": "non iniziat[oa], da fare, pianificat[oa], previst[oa], bozza, da iniziare",
        "Russian": "не начат[оаы]?, запланирован[оаы]?, ожидает, в планах, черновик, к выполнению",
        "Turkish": "başlamadı, başlanmadı, planlandı, bekliyor, yapılacak, taslak",
        "Chinese": "未开始, 未開始, 待办, 待开始, 待处理, 待做, 计划中, 規劃中, 规划中, 草稿, 草案, 未完成, 待实现",
        "Japanese": "未着手, 未開始, 予定, 計画中, 未対応, 下書き, 待ち, 未完了, 未実装",
        "Korean": "시작_전, 대기_중?, 예정, 계획됨?, 할_일, 초안, 미착수, 미완료",
    },
}

SIGNS: dict[str, Word] = {
    **dict.fromkeys("🔄🚧🟡🟠🏗🔨▶🔃🛠", "in_progress"),
    **dict.fromkeys("⛔🛑", "blocked"),
    **dict.fromkeys("⏸⏭💤", "on_hold"),
    **dict.fromkeys("✅✔☑✓🟢🗹🟩", "completed"),
    **dict.fromkeys("🚫🗑", "cancelled"),
    **dict.fromkeys("⬜☐◻▢□🔲⚪🔜📋❌✗✘⭕🔴🆕", "not_started"),
}

BOXES: dict[str, Word] = {  # what people put between the brackets of a box
    **dict.fromkeys("xXvV*✓✔✅☑", "completed"),
    **dict.fromkeys("~-/>", "in_progress"),
    "!": "blocked",
    " ": "not_started",
}

# What stands before a colon, in the first cell of a row, or in a heading over its value.
FIELDS = {
    "workflow": "workflow, workflow name, current workflow, active workflow",
    "type": "workflow type, type",
    "phase": "phase, current phase, workflow phase, current milestone, current stage, current sprint, current step, "
    "current development phase, active phase, aktuelle phase, aktueller meilenstein, phase actuelle, phase en cours, étape actuelle, fase actual, etapa actual, "
    "hito actual, fase atual, etapa atual, fase attuale, fase corrente, текущая фаза, текущий этап, mevcut aşama, şu anki aşama, "
    "当前阶段, 目前阶段, 当前里程碑, 現在のフェーズ, 현재 단계, 현재 페이즈",
    "status": "status, statut, estado, stato, état, durum, статус, состояние, 状态, 狀態, 当前状态, ステータス, 状況, 状態, 상태, zustand, current status, "
    "workflow status, plan status, phase status, project status, overall status, implementation status, state",
    "next": "next, next action, next step, next task, next up, nächster schritt, prochaine étape, siguiente paso, próximo passo, "
    "prossimo passo, следующий шаг, sonraki adım, 下一步, 次のステップ, 다음 단계",
    "next list": "next steps, next actions",
    "total": "total phases",
    "gate": "gate, validation, validation gate, quality gate, exit criteria",
    "plan": "plan, plan file",
    "reading": "required reading, must read, read first, references, see also, related documents, related docs, further reading, "
    "pflichtlektüre, siehe auch, voir aussi, à lire, véase también, lectura obligatoria, veja também, leitura obrigatória, vedi anche, "
    "см также, ayrıca bakınız, 参考, 参考文档, 必读, 参考資料, 참고, 참고 문서",
    "reminders": "critical reminders, important reminders, must remember, key reminders, reminders, remember, key rules",
    "context": "context, workflow context, context variables",
}

# The columns of a table of phases.
COLUMNS = {
    "name": "phase name, name, title, goal, task, what, description, phase, milestone, titel, bezeichnung, beschreibung, nom, titre, "
    "nombre, título, descripción, nome, descrição, titolo, descrizione, название, описание, ad, başlık, açıklama, 目标, 名称, 内容, 任务, "
    "描述, 名前, 内容, 説明, 이름, 내용, 설명",
    "number": "#, phase #, phase no., phase number, no., no, number, id, nr, nr., n°, №, 序号",
    "status": "status, state, progress, done, stand, zustand, statut, état, estado, stato, статус, durum, 状态, 狀態, 进度, ステータス, 状態, 状況, 상태",
}

# Sections, by what their headings say. The first three hold work by its status, as columns of a board do.
NO_WORK = (
    "acceptance|success|exit criteria|criteria|definition of done|goals?|non[- ]goals?|objectives?|risks?|notes?|references?|"
    "open questions?|questions?|overview|summary|background|context|decisions?|changelog|history|log|updates?|resources?|"
    "dependencies|appendix|progress|results|glossary|metrics|verification checklist|checklist|kriterien|risiken|ziele|critères|risques|"
    "objectifs|criterios|riesgos|objetivos|critérios|riscos|criteri|rischi|obiettivi|критери|риски|цели|"
    "kabul|riskler|hedefler|验收|风险|目标|标准|備考|目標|リスク|受け入れ|목표|위험|기준"
)
LATER = (
    "deferred|future|later|optional|follow[- ]?ups?|nice[- ]to[- ]haves?|stretch|backlog|ideas?|out of scope|someday|"
    "post[- ]?(?:mvp|launch)|v2|später|optionnel|plus tard|opcional|futuro|más adelante|opzionale|позже|"
    "опционально|isteğe bağlı|可选|后续|以后|将来|オプション|今後|선택|나중"
)

# "4 of 10"
OF = "of, out of, von, van, de, di, su, sur, z, ze, af, av, od, din, из, do"
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
_ROMAN = "i ii iii iv v vi vii viii ix"  # "Phase X" is any phase
NUMBERS = {
    **dict(zip(_NUMBERS.split(), range(1, 13), strict=True)),
    **dict(zip(_ROMAN.split(), range(1, 10), strict=True)),
    **dict(zip("一二三四五六七八九十", range(1, 11), strict=True)),
}
