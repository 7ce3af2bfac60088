import t from 'tap'
import { askAboutAccess } from './auditors/access.ts'
import { answering } from './auditors/answers.ts'
import { askAboutChanges } from './auditors/changes.ts'
import { askForEvidence } from './auditors/evidence.ts'
import { makeHistory } from './auditors/history.ts'
import { criteriaOf, questions } from './auditors/page.ts'
import { askAboutPeople } from './auditors/people.ts'

await t.test('the guide has each question once, in order, with its criteria', async (t) => {
  t.strictSame(
    questions,
    Array.from({ length: 30 }, (_, n) => `Q${n + 1}`),
  )
  for (const question of questions) t.not(criteriaOf(question), '', question)
})

await t.test('the commands of the guide answer the questions of an auditor', async (t) => {
  const audited = await answering(await makeHistory(t), t.testdir())
  await askAboutAccess(t, audited)
  await askAboutChanges(t, audited)
  await askForEvidence(t, audited)
  await askAboutPeople(t, audited)
})
