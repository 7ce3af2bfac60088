import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startService } from '../start.ts'
import { type Language, languages, packagesOf } from './client-packages.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../../..')
const guide = readFileSync(join(root, 'docs/guides/clients.md'), 'utf8')
const examples = [...guide.matchAll(/^```(js|python|java|rust) (\S+)\n(.*?)^```$/gms)].map(
  ([, language, name, code]) => ({ language: language as Language, name: name!, code: code! }),
)

type Runner = (packages: string, folder: string, code: string, env: NodeJS.ProcessEnv) => Promise<string>
const TIMEOUT_MS = 240_000
const output = async (file: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<string> =>
  (await run(file, args, { cwd, env: { ...process.env, NODE_OPTIONS: '', ...env }, timeout: TIMEOUT_MS })).stdout
/** Runs an example of a language with its installed packages, and returns what it prints. */
const runners: Readonly<Record<Language, Runner>> = {
  js: (packages, _, code, env) => output(process.execPath, ['--input-type=module', '--eval', code], packages, env),
  python: (packages, folder, code, env) => output(join(packages, 'packages/bin/python'), ['-c', code], folder, env),
  java: async (packages, folder, code, env) => {
    const file = join(folder, 'Example.java')
    await writeFile(file, code)
    return output('java', ['-cp', join(packages, 'jars/*'), file], folder, env)
  },
  rust: async (packages, _, code, env) => {
    const examples = join(packages, 'examples')
    await mkdir(examples, { recursive: true })
    await writeFile(join(examples, 'example.rs'), code)
    return output('cargo', ['run', '-q', '--offline', '--example', 'example'], packages, env)
  },
}

await t.test('every example in the guide to clients prints the answer of the flag', async (t) => {
  t.strictSame([...new Set(examples.map(({ language }) => language))], languages)
  t.ok(examples.length >= 15)
  const service = await startService(t)
  await service.request('POST', '/api/v1/namespaces', { key: 'shop', name: 'Shop' })
  const flag = { key: 'checkout', name: 'Checkout', type: 'BOOLEAN_FLAG_TYPE', enabled: true }
  t.equal((await service.request('POST', '/api/v1/namespaces/shop/flags', flag)).status, 200)
  const tokenOf = async (role: string) => {
    const body = { name: role, grants: [{ namespaceKey: 'shop', role }] }
    const { json, status } = await service.request('POST', '/auth/v1/method/token', body)
    t.equal(status, 200, role)
    return (json as { clientToken: string }).clientToken
  }
  const tokens = { client: await tokenOf('client'), server: await tokenOf('server') }
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-clients-'))
  t.teardown(() => rm(folder, { recursive: true }))
  for (const { language, name, code } of examples) {
    // The peers of this provider contradict those of the others, so it is a development dependency of this project.
    const { path, skip } = name === 'ofrep-server' ? { path: root, skip: false } : packagesOf(language)
    const isEngine = name.includes('engine')
    const printed = (token: string) =>
      runners[language](path, folder, code, { ROLLCALL_URL: service.url, ROLLCALL_TOKEN: token })
    await t.test(`${language} ${name}`, { skip }, async (t) => {
      t.match(await printed(isEngine ? tokens.server : tokens.client), /^(?:.*\n)*true\n$/i)
      if (isEngine) await t.rejects(printed(tokens.client), 'the role "client" has no snapshot')
    })
  }
})
