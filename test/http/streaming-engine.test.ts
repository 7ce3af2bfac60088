import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { freePort } from '../free-port.ts'
import { packagesOf } from '../real/client-packages.ts'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { maker } from './flags.ts'
import { granted } from './granted.ts'

/** Program with the published client in streaming mode, which prints changes of a value, and changes of errors. */
const PROGRAM = `
import os, time
from flipt_client import FliptClient
from flipt_client.models import ClientOptions, ClientTokenAuthentication, ErrorStrategy, FetchMode

client = FliptClient(ClientOptions(
    url=os.environ["ROLLCALL_URL"],
    authentication=ClientTokenAuthentication(client_token=os.environ["ROLLCALL_TOKEN"]),
    fetch_mode=FetchMode.STREAMING,
    error_strategy=ErrorStrategy.FAIL,
))
value = failure = ""
while True:
    try:
        now = str(client.evaluate_boolean(flag_key="release", entity_id="alice").enabled)
        if now != value:
            print(now, flush=True)
        value, failure = now, ""
    except Exception as error:
        now = str(error).replace("\\n", " ")
        if now != failure:
            print(now, flush=True)
        failure = now
    time.sleep(0.005)
`

const { path, skip } = packagesOf('python')
await t.test('the published engine in streaming mode evaluates each change of its flags', { skip }, async (t) => {
  const service = await startService(t, { 'server.http_port': String(await freePort()) })
  const make = maker(service)
  await make.boolean('release')
  const { clientToken, id } = await granted(service, { namespaceKey: 'default', role: 'server' })
  const env = { ...process.env, ROLLCALL_URL: service.url, ROLLCALL_TOKEN: clientToken }
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const program = spawn(join(path, 'packages/bin/python'), ['-c', PROGRAM], { env, stdio: [...stdio] })
  const ended = once(program, 'exit')
  t.teardown(() => ended)
  t.teardown(() => program.kill())
  const printed: string[] = []
  createInterface(program.stdout).on('line', (line) => printed.push(line))
  const values = () => printed.filter((line) => /^(?:True|False)$/.test(line))
  const due = ['False']
  const isEvaluated = () => eventually(() => values().length === due.length, `value ${due.length}`)
  await isEvaluated()
  for (let n = 0; n < 50; n++) {
    if (n === 25) await service.reopen()
    const enabled = n % 2 === 0
    await make.updateFlag('release', { enabled })
    due.push(enabled ? 'True' : 'False')
    await isEvaluated()
  }
  t.strictSame(values(), due, 'each change is evaluated once')
  await service.request('DELETE', `/auth/v1/tokens/${id}`)
  await eventually(() => printed.at(-1)?.includes('401 Unauthorized'), 'the error of an ended token')
})
