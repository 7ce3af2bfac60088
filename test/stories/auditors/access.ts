import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import type { AuthenticationList } from '../../../src/contract/token.ts'
import { type Audited, eventLines } from './answers.ts'

/** Asks Q1 to Q9: credentials, access, attempts and reads. */
export const askAboutAccess = async (t: Test, { answer, tokens, person, file }: Audited): Promise<void> => {
  const { alice, auditor, ci, late, leaked } = tokens

  await t.test('Q1: the exported table has each issued and ended credential of the period', async (t) => {
    const [, table, , whole] = await answer('Q1')
    const rows = readFileSync(file('tokens.csv'), 'utf8').trimEnd().split('\r\n').slice(1)
    const lines = eventLines(readFileSync(file('all.ndjson'), 'utf8'))
    const ended = lines.filter(({ type }) => /^Token(Issued|Revoked|Expired)/.test(type))
    t.strictSame(
      rows.map((row) => Number(row.split(',')[0])),
      ended.map(({ index }) => index),
      'the same events as in the export without a filter',
    )
    t.ok(ended.length > 8)
    t.strictSame(
      lines.map(({ index }) => index),
      lines.map((_, n) => n),
    )
    t.match(table, new RegExp(`^verified ${rows.length} events`, 'm'))
    t.match(whole, new RegExp(`^verified ${lines.length} events, size ${lines.length}, root`, 'm'))
  })

  await t.test('Q2: the list shows the credentials that were valid at the moment', async (t) => {
    const [list] = await answer('Q2')
    const ids = (JSON.parse(list!) as AuthenticationList).authentications.map(({ id }) => id)
    for (const { id } of [alice.authentication, auditor, ci, leaked]) t.ok(ids.includes(id))
    t.notOk(ids.includes(late.id), 'issued after the moment')
    t.equal(new Set(ids).size, ids.length)
  })

  await t.test('Q3: the review shows each token with the right, and the reason', async (t) => {
    const [review] = await answer('Q3')
    t.match(review, new RegExp(`flag\\.update +${ci.id} .*editor@prod`))
    t.match(review, new RegExp(`flag\\.update +${leaked.id} `))
    for (const id of [auditor.id, late.id]) t.notMatch(review, id)
  })

  await t.test('Q4: the end of the access of a leaver has time, actor and reason', async (t) => {
    const texts = { 'person-…': person, '<id>': alice.authentication.id }
    const [subjects, sessions, ends] = await answer('Q4', { texts })
    t.match(subjects, new RegExp(`^${person} +open`, 'm'))
    t.strictSame(
      eventLines(sessions!).map(({ data }) => data['id']),
      [alice.authentication.id],
    )
    t.match(eventLines(ends!), [
      { type: 'TokenRevoked', reason: 'LEAVER-7', actor: { kind: 'token', method: 'token' } },
    ])
  })

  await t.test('Q5: the events of a token show its acts', async (t) => {
    const [acts] = await answer('Q5', { texts: { '<id>': ci.id } })
    t.match(acts, /ci +flag prod\/checkout switched on/)
    t.notMatch(acts, /Hacked|staff/)
  })

  await t.test('Q6: a found token has a record, acts, an end and attempts after it', async (t) => {
    const [record, acts] = await answer('Q6', { texts: { '<id>': leaked.id } })
    t.match(record, new RegExp(`ID +${leaked.id}[^]*NAME +deploy[^]*STATUS +DELETED`))
    t.notMatch(record, leaked.clientToken)
    t.match(acts, /static token "deploy" issued[^]*name changed[^]*deleted[^]*refused: credential_invalid at .*flags/)
  })

  await t.test('Q7: failed and refused attempts are counted by reason and day', async (t) => {
    const [counts, attempts] = await answer('Q7')
    t.match(counts, /^START +REASON .*LOGINS REFUSED/)
    for (const reason of ['provider_error', 'credential_invalid'])
      t.match(counts, new RegExp(`^\\d{4}-\\d\\d-\\d\\dT00:00:00\\.000Z +${reason} `, 'm'))
    t.match(attempts, /login refused: provider_error/)
    t.match(attempts, /\d+ requests refused between/)
  })

  await t.test('Q8: each reader of the history is shown, with opened personal data', async (t) => {
    const [reads] = await answer('Q8')
    const shown = eventLines(reads!).filter(({ actor }) => actor.id === auditor.id)
    t.match(
      shown.find(({ type }) => type === 'HistoryExported'),
      { data: { personal: true }, actor: { name: 'auditor' } },
    )
    t.ok(shown.some(({ type, data }) => type === 'HistoryRead' && Number(data['requests']) > 0))
  })

  await t.test('Q9: the review shows each token that may read the history', async (t) => {
    const [readers] = await answer('Q9')
    t.match(readers, new RegExp(`audit\\.read +${auditor.id} .*auditor`))
    t.notMatch(readers, ci.id)
  })
}
