import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Manifest } from '../../../src/verifier/export/manifest.ts'
import { rollcall } from '../../cli/service.ts'
import { onCluster } from '../../cluster/own.ts'
import { startService } from '../../start.ts'
import { type Audited, jsonLines } from './answers.ts'
import { CANARY } from './history.ts'

/** A printed event in the form of OCSF. */
type Printed = { readonly metadata: { readonly sequence: number } }

/** Asks Q24 to Q30: people, other systems, a leaked key, and the limits. */
export const askAboutPeople = async (t: Test, audited: Audited): Promise<void> => {
  const { answer, service, settings, file, login, person, events, vkey } = audited
  const data = join(service.directory, 'data')
  const position = `#${login.position}`

  await t.test('Q24: the sessions of a person are found by each method', async (t) => {
    const [codehost] = await events('method=codehost&type=TokenIssued')
    const [oidc, other, sessions] = await answer('Q24', { texts: { 'person-…': `${person},${codehost!.subject}` } })
    t.match(oidc, new RegExp(`^${person} +open +1`, 'm'))
    t.match(other, new RegExp(`^${codehost!.subject} +open +1`, 'm'))
    t.match(sessions, /through main: session issued[^]*through the code host: session issued/)
  })

  await t.test('Q25: an erased person is unreadable, and the log is whole', async (t) => {
    if (!onCluster) {
      const backup = await rollcall(['backup', file('backup'), '--data', data, '--with-keys'])
      t.equal(backup.exit, 0, backup.err)
    }
    const outputs = await answer('Q25', { texts: { 'person-…': person, '#12': position } })
    const [found, , erased, listed, shown, ...verdicts] = outputs
    t.match(found, `${person} `)
    t.match(readFileSync(file('person.ndjson'), 'utf8'), CANARY)
    t.match(erased, new RegExp(`^${person} `, 'm'))
    t.match(listed, new RegExp(`personal data of ${person} erased`))
    t.match(shown, /PERSONAL .*"\/data\/profile":\{"status":"erased"\}/)
    t.notMatch(shown, CANARY)
    for (const verdict of verdicts) t.match(verdict, /^verified \d+ events/m)
  })

  await t.test('Q26: a restored backup has the key again until the person is erased again', async (t) => {
    const [list] = await answer('Q26')
    t.equal(list, `${person}\n`)
    if (onCluster) return
    const into = file('restored')
    const restored = await rollcall([
      'restore',
      file('backup'),
      '--into',
      into,
      '--checkpoint',
      file('kept.checkpoint'),
    ])
    t.equal(restored.exit, 0, restored.err)
    const again = await startService(t, { ...settings, 'storage.data_dir': into, 'log.file': `${into}.log` })
    const env = { ROLLCALL_ADDRESS: again.url, ROLLCALL_TOKEN: again.token }
    const show = async () => (await rollcall(['events', 'show', position, '--personal'], env)).out
    t.match(await show(), CANARY)
    // The list was kept apart from the backup.
    const ran = await rollcall(['subjects', 'erase', '--from', file('erased-subjects'), '--yes'], env)
    t.equal(ran.exit, 0, ran.err)
    t.match(await show(), /"status":"erased"/)
    await again.close()
  })

  await t.test('Q27: a later run of the tail continues after the last printed event', async (t) => {
    const [first] = await answer('Q27')
    const lines = jsonLines(first!) as readonly Printed[]
    t.ok(lines.length > 10)
    const { request } = service
    await request('POST', '/api/v1/namespaces', { key: 'newer', name: 'Newer' })
    const [next] = await answer('Q27')
    t.match(next, 'newer')
    t.ok((jsonLines(next!) as readonly Printed[])[0]!.metadata.sequence > lines.at(-1)!.metadata.sequence)
  })

  await t.test('Q28: a Parquet file of all events verifies', async (t) => {
    const [, verdict] = await answer('Q28')
    t.equal(readFileSync(file('all.parquet')).toString('latin1', 0, 4), 'PAR1')
    const manifest = JSON.parse(readFileSync(file('all.parquet.manifest.json'), 'utf8')) as Manifest
    t.equal(manifest.events, manifest.index.to)
    t.match(verdict, new RegExp(`^verified ${manifest.events} events`, 'm'))
  })

  await t.test('Q29: the log extends a retained checkpoint after the key has leaked', async (t) => {
    await answer('Q29')
    t.not(readFileSync(file('new-vkey'), 'utf8').trim(), vkey)
    t.match(await events('type=SigningKeyChanged'), [{ data: { compromised: true } }])
    const old = await rollcall(['checkpoint', '--compare', file('kept.checkpoint'), '--vkey', vkey], {
      ROLLCALL_ADDRESS: service.url,
      ROLLCALL_TOKEN: service.token,
    })
    t.match(old, { exit: 3, err: /get the key another way/ })
  })

  await t.test('Q30: the check of a filtered export counts only its events', async (t) => {
    const [verdict] = await answer('Q30')
    const [, exported, size] = /^verified (\d+) events, size (\d+)/m.exec(verdict!)!
    t.ok(Number(exported) < Number(size))
  })
}
