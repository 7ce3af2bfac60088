import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

await t.test('the commands of the guide on the ledger run in their order', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const data = join(service.directory, 'data')
  const guide = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/ledger.md'), 'utf8')
  const commands = [...guide.matchAll(/^rollcall (.*)$/gm)].map(([, command]) => command!)
  const files: Readonly<Record<string, string>> = {
    './data': data,
    'retained.checkpoint': join(service.directory, 'retained.checkpoint'),
  }
  /** Loses both copies of the sealed record. */
  const lose = async () => {
    const database = await openDatabase(join(data, 'ledger.sqlite'), 'durable')
    database.exec('delete from sealed; delete from checkpoints')
    database.close()
    await rm(join(data, 'signing-key.pem.sealed'))
  }
  for (const command of commands) {
    if (command.includes('--data')) await service.close()
    if (command.startsWith('ledger resume')) await lose()
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? files[word!] ?? word!)
    const asks = /^ledger (resume|restart|rebuild)/.test(command)
    const { exit, err } = await rollcall([...words, ...(asks ? ['--yes'] : [])], env)
    t.equal(exit, 0, `${command}: ${err}`)
  }
  t.equal(commands.length, 6)
  const { out } = await rollcall(['ledger', 'status', '--data', data, '-o', 'json'])
  t.match(JSON.parse(out), { state: 'ok' })
})
