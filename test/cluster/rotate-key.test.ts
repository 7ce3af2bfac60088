import { join } from 'node:path'
import t from 'tap'
import { newDirectory } from '../adapters/embedded/store.ts'
import { rollcall } from '../cli/service.ts'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { writeConfig } from './own.ts'
import { startStack } from './stack.ts'

const { stack, skip } = await startStack(t)

type Status = {
  readonly state: string
  readonly size: number
  readonly sealed: { readonly size: number }
  readonly keys: readonly { readonly vkey: string; readonly compromised: boolean }[]
}

await t.test('the signing key of servers is changed while instances run, which sign on', { skip }, async (t) => {
  const directory = await newDirectory(t)
  const file = join(directory, 'rollcall.json')
  await writeConfig(file, stack!.settings)
  const [one, other] = [await startService(t, stack!.settings), await startService(t, stack!.settings)]
  const status = async ({ request }: typeof one) => (await request<Status>('GET', '/audit/v1/ledger')).json
  const sealed = async ({ request }: typeof one) =>
    (await request<{ text: string; size: number }>('POST', '/audit/v1/ledger/checkpoint', {})).json
  const before = await sealed(one)
  for (const compromised of [false, true]) {
    const more = compromised ? ['--compromised'] : []
    const changed = await rollcall(['ledger', 'rotate-key', '--config', file, '--yes', ...more])
    t.match(changed, { exit: 0, err: /The signing key is replaced/ })
    const vkey = changed.out.trim()
    for (const service of [one, other]) {
      await service.request('POST', '/api/v1/namespaces', { key: `n${compromised}${service === one}`, name: 'n' })
      const { text, size } = await sealed(service)
      t.ok(size > before.size)
      const [, id] = vkey.split('+')
      const ids = text.split('\n— ').slice(1)
      t.ok(
        ids.some((line) => Buffer.from(line.split(' ')[1]!, 'base64').toString('hex', 0, 4) === id),
        'the new key signs',
      )
      const { keys, state } = await eventually(async () => {
        const found = await status(service)
        return found.state === 'ok' && found
      }, 'the ledger is ok')
      t.match([keys.at(-1)!.vkey, keys.at(-2)!.compromised, state], [vkey, compromised, 'ok'])
    }
  }
  const report = JSON.parse((await rollcall(['ledger', 'status', '--config', file, '-o', 'json'])).out) as Status
  t.match(report, { state: 'ok', keys: [{ compromised: false }, { compromised: true }, { compromised: false }] })
})
