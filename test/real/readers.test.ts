import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startService } from '../start.ts'
import { packagesOf } from './client-packages.ts'

const run = promisify(execFile)
const js = packagesOf('js')
const python = packagesOf('python')

const service = await startService(t)
const flag = { key: 'checkout', name: 'Checkout', type: 'BOOLEAN_FLAG_TYPE' }
await service.request('POST', '/api/v1/namespaces/default/flags', flag)
for (let n = 0; n < 20; n++) await service.request('POST', '/auth/v1/method/token', { name: `token-${n}` })
await service.request('GET', '/auth/v1/self', undefined, { authorization: 'Bearer no-such-token' })
const folder = await mkdtemp(join(tmpdir(), 'rollcall-readers-'))
t.teardown(() => rm(folder, { recursive: true }))

/** Writes an answer of the service to a file, and returns its path. */
const saved = async (name: string, path: string): Promise<string> => {
  const { status, text } = await service.request('GET', path)
  if (status !== 200) throw new Error(`${path}: ${status}`)
  await writeFile(join(folder, name), text)
  return join(folder, name)
}
const options = { env: { ...process.env, NODE_OPTIONS: '' }, maxBuffer: 16_777_216 }
const inJs = async (code: string, file: string): Promise<unknown> =>
  JSON.parse(
    (await run(process.execPath, ['--input-type=module', '--eval', code, file], { ...options, cwd: js.path })).stdout,
  )
const inPython = async (code: string, file: string): Promise<unknown> =>
  JSON.parse((await run(join(python.path, 'packages/bin/python'), ['-c', code, file], options)).stdout)

/** Ids and types of the events, as their own JSON has them. */
const own = async (file: string) => {
  const events = JSON.parse(await readFile(file, 'utf8')) as readonly { readonly id: string; readonly type: string }[]
  return events.map(({ id, type }) => [id, type])
}

await t.test('the AsyncAPI parser finds no error in the document', { skip: js.skip }, async (t) => {
  const code = `import { readFileSync } from 'node:fs'
import { Parser } from '@asyncapi/parser'
const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[1], 'utf8'))
const errors = diagnostics.filter(({ severity }) => severity === 0).map(({ message }) => message)
console.log(JSON.stringify({ errors, version: document?.version(), messages: document?.allMessages().length > 20 }))`
  const found = await inJs(code, await saved('asyncapi.json', '/asyncapi.json'))
  t.strictSame(found, { errors: [], version: '3.0.0', messages: true })
})

await t.test('the CloudEvents SDK for JavaScript reads a batch', { skip: js.skip }, async (t) => {
  const code = `import { readFileSync } from 'node:fs'
import { HTTP } from 'cloudevents'
const headers = { 'content-type': 'application/cloudevents-batch+json' }
const events = HTTP.toEvent({ headers, body: readFileSync(process.argv[1], 'utf8') })
console.log(JSON.stringify(events.map((event) => event.validate() && [event.id, event.type])))`
  const file = await saved('events.json', '/audit/v1/events?format=cloudevents')
  t.strictSame(await inJs(code, file), await own(file))
})

await t.test('the CloudEvents SDK for Python reads each event', { skip: python.skip }, async (t) => {
  const code = `import json, sys
from cloudevents.http import from_json
events = [from_json(json.dumps(event)) for event in json.load(open(sys.argv[1]))]
print(json.dumps([[event["id"], event["type"]] for event in events]))`
  const file = await saved('events.json', '/audit/v1/events?format=cloudevents')
  t.strictSame(await inPython(code, file), await own(file))
})
