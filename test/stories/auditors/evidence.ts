import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { LedgerStatus } from '../../../src/contract/history/ledger.ts'
import { type Manifest, manifestText } from '../../../src/verifier/export/manifest.ts'
import { rollcall } from '../../cli/service.ts'
import { skip as noPython } from '../../verifier/python.ts'
import { type Audited, eventLines, jsonLines } from './answers.ts'
import { page, root } from './page.ts'

/** Asks Q15 to Q23: completeness, proofs, alerts and time. */
export const askForEvidence = async (t: Test, audited: Audited): Promise<void> => {
  const { answer, service, file, vkey, launch, tokens, login } = audited
  const exported = () => eventLines(readFileSync(file('all.ndjson'), 'utf8'))

  await t.test('Q15: the manifests have source, query, range and number of events', async (t) => {
    const [manifests, verdict] = await answer('Q15')
    const [some, all] = jsonLines(manifests!) as readonly Manifest[]
    const { origin } = (await service.request<LedgerStatus>('GET', '/audit/v1/ledger')).json
    t.match(some, { origin, filter: { type: 'Token*', from: /./, to: /./ } })
    t.match(all, { origin, filter: {}, index: { from: 0, to: exported().length }, events: exported().length })
    t.match(verdict, new RegExp(`^verified ${all!.events} events`, 'm'))
  })

  await t.test('Q16: the log extends the retained checkpoint, and a changed line is found', async (t) => {
    await answer('Q16')
    const text = readFileSync(file('all.ndjson'), 'utf8').replace('CHG-2 launch', 'CHG-9 launch')
    writeFileSync(file('altered.ndjson'), text)
    const manifest = JSON.parse(readFileSync(file('all.ndjson.manifest.json'), 'utf8')) as Manifest
    const sha256 = createHash('sha256').update(text).digest('hex')
    const files = manifest.files.map((one) => ({ ...one, name: 'altered.ndjson', sha256 }))
    writeFileSync(file('altered.ndjson.manifest.json'), manifestText({ ...manifest, files }))
    const altered = await rollcall(['events', 'verify', file('altered.ndjson'), '--vkey', vkey])
    t.match(altered, { exit: 3, err: /Not verified/ })
  })

  await t.test('Q17: metrics show the state of the ledger, and each alert exists', async (t) => {
    const [metrics, ledger] = await answer('Q17')
    t.match(metrics, /^rollcall_ledger_state\{state="ok"\} 1$/m)
    t.match(metrics, /^rollcall_ledger_first_bad_index -1$/m)
    t.match(JSON.parse(ledger!), { state: 'ok', scrub: {} })
    const alerts = readFileSync(join(root, 'deploy/alerts.yml'), 'utf8')
    const named = page.match(/`Rollcall[A-Z]\w+`/g) ?? []
    t.ok(named.length > 2)
    for (const name of named) t.match(alerts, new RegExp(`alert: ${name.slice(1, -1)}$`, 'm'), name)
  })

  await t.test('Q18: checkpoints are kept outside of the service and in its log', async (t) => {
    const [checkpoint, logged] = await answer('Q18')
    const [, size] = checkpoint!.split('\n')
    t.strictSame(readdirSync(file('checkpoints')).toSorted(), [`checkpoint-${size}`, 'hashes'])
    t.match(jsonLines(logged!)[0], { checkpoint: new RegExp(`^${checkpoint!.split('\n')[0]}\n\\d+\n`) })
  })

  await t.test('Q19: a proof of one event does not show the actor', async (t) => {
    const [, verdict] = await answer('Q19', { texts: { '@3': `@${launch.index}` } })
    t.match(verdict, /WITHHELD +meta/)
    t.match(verdict, /FlagUpdated/)
    const proof = readFileSync(file('event.tlog-proof'), 'utf8')
    const extra = Buffer.from(/^extra (\S+)$/m.exec(proof)![1]!, 'base64').toString()
    t.match(extra, 'checkout')
    t.notMatch(extra, tokens.ci.id)
  })

  await t.test('Q20: a program that shares no code gives the same verdict', { skip: noPython }, async (t) => {
    const [verdict] = await answer('Q20', { texts: { 'test/verifier': join(root, 'test/verifier') } })
    t.match(JSON.parse(verdict!), { verdict: 'ok', events: exported().length })
  })

  await t.test('Q21: the oldest event is shown', async (t) => {
    const [oldest] = await answer('Q21')
    t.match(oldest, new RegExp(`TIME +${exported()[0]!.time}[^]*INDEX +0\n`))
  })

  await t.test('Q22: an event of a clock that was set back has both times', async (t) => {
    const [behind, metric] = await answer('Q22')
    const [event] = eventLines(behind!)
    t.match(event, { type: 'NamespaceCreated', meta: { reason: 'CHG-4' } })
    t.ok(String(event!.meta['writtenAt']) < event!.time)
    t.match(metric, /^rollcall_clock_ahead_seconds \d/)
  })

  await t.test('Q23: the events of a login have one correlation id', async (t) => {
    const [events] = await answer('Q23', { texts: { '<id>': login.correlationId! } })
    t.match(events, /login [^]*login through main: session issued/)
    t.ok(events!.trimEnd().split('\n').length > 3)
  })
}
