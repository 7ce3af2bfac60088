import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import type { HistoryEvent, HistoryEvents } from '../../../src/contract/history/events.ts'
import { rollcall } from '../../cli/service.ts'
import { clusterOf, onCluster } from '../../cluster/own.ts'
import { granted } from '../../http/granted.ts'
import { bearer, begin, CODEHOST, comeBack, EXCHANGE, everyWay, logIn, OIDC, open, visit } from '../../http/people.ts'
import type { Headers, Started } from '../../start.ts'
import { commandsOf, parsed } from './page.ts'

const PROD = '/api/v1/namespaces/prod'
/** Name of the person who left. */
export const CANARY = 'Alice Canary'
const run = promisify(execFile)

/** Settings of the servers of a service as variables of the command line; none for an embedded store. */
const storeVariables = async ({ directory }: Started): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(
    Object.entries(onCluster ? await clusterOf(directory) : {}).map(([key, value]) => [
      `ROLLCALL_${key.toUpperCase().replaceAll('.', '_')}`,
      value,
    ]),
  )

/** The newest event of a service. */
const newest = async ({ request }: Started): Promise<HistoryEvent> =>
  (await request<HistoryEvents>('GET', '/audit/v1/events?order=desc&limit=1')).json.events[0]!

/** The instant of an event, `ms` later. */
const instantOf = ({ time }: HistoryEvent, ms = 0): string => new Date(Date.parse(time) + ms).toISOString()

/**
 * A service with a small history for all questions of the guide: logins, exchanges, tokens with grants, a leaver, a
 * leaked token, refused attempts, changes with tickets, an export, a restart and a clock that was set back. `answer`
 * runs the commands of a question, and returns the output of each.
 */
export const auditedService = async (t: Test) => {
  const wall = { behindMs: 0 }
  const now = () => new Date(Date.now() - wall.behindMs)
  const { service, liar, host, cluster, settings } = await everyWay(t, {}, { now })
  const folder = t.testdir()
  liar.lies = { claims: { email: 'alice@example.com', email_verified: true, name: CANARY } }
  const send = async (
    method: string,
    path: string,
    body: object | undefined,
    reason: string,
    headers: Headers = {},
  ) => {
    const { status, text } = await service.request(method, path, body, { 'event-reason': reason, ...headers })
    if (status !== 200) throw new Error(`${method} ${path}: ${text}`)
  }

  await send('POST', '/api/v1/namespaces', { key: 'prod', name: 'Production' }, 'CHG-1')
  await send('POST', `${PROD}/flags`, { key: 'checkout', name: 'Checkout', type: 'BOOLEAN_FLAG_TYPE' }, 'CHG-1')
  await send('POST', `${PROD}/flags/checkout/rollouts`, { threshold: { percentage: 0, value: true } }, 'CHG-1')
  const alice = await logIn(service, OIDC)
  await logIn(service, CODEHOST)
  await service.request('POST', EXCHANGE, { service_account_token: await cluster.token() }, open)
  const auditor = await granted(service, { name: 'auditor', role: 'auditor' })
  const leaked = await granted(service, { name: 'deploy' })
  const ci = await granted(service, { name: 'ci', grants: [{ role: 'editor', namespaceKey: 'prod' }] })
  const moment = await newest(service)

  const late = await granted(service, { name: 'late' })
  await send('PUT', `${PROD}/flags/checkout`, { name: 'Checkout', enabled: true }, 'CHG-2 launch', ci.headers)
  const launch = await newest(service)
  await send('POST', `${PROD}/segments`, { key: 'staff', name: 'Staff' }, 'CHG-3', bearer(alice.token))
  await send('PUT', `${PROD}/flags/checkout`, { name: 'Hacked', enabled: true }, 'none', leaked.headers)
  await send('DELETE', `/auth/v1/tokens/${leaked.id}`, undefined, 'found in a repository')
  await service.request('GET', `${PROD}/flags`, undefined, leaked.headers)
  await service.request('POST', EXCHANGE, { service_account_token: 'x' }, open)
  const { authorizeUrl, cookie } = await begin(service, OIDC)
  const denied = new URLSearchParams({ error: 'access_denied', state: (await visit(authorizeUrl)).get('state')! })
  await comeBack(service, OIDC, denied, { cookie, accept: 'application/json' })
  await send('POST', '/auth/v1/tokens/revoke', { method: 'METHOD_OIDC', identity: 'alice' }, 'LEAVER-7')
  await service.request('GET', '/audit/v1/events?format=ndjson', undefined, auditor.headers)
  await service.request('GET', '/audit/v1/events?personal=open&limit=1', undefined, auditor.headers)
  wall.behindMs = 60_000
  await send('POST', '/api/v1/namespaces', { key: 'later', name: 'Later' }, 'CHG-4')
  wall.behindMs = 0

  const variables = await storeVariables(service)
  const variablesFor = (token: string) => ({
    ...variables,
    ROLLCALL_ADDRESS: service.url,
    ROLLCALL_TOKEN: token,
  })
  const { vkey } = (await service.request<{ keys: { vkey: string }[] }>('GET', '/audit/v1/ledger')).json.keys[0]!
  const checkpoint = await service.request<{ text: string }>('POST', '/audit/v1/ledger/checkpoint', {})
  for (const [name, text] of Object.entries({
    vkey: `${vkey}\n`,
    'kept.checkpoint': checkpoint.json.text,
    'found-token': leaked.clientToken,
  }))
    await writeFile(join(folder, name), text)
  await service.reopen()

  const first = (await service.request<HistoryEvents>('GET', '/audit/v1/events?limit=1')).json.events[0]!
  const logins = await service.request<HistoryEvents>('GET', `/audit/v1/events?tokenId=${alice.authentication.id}`)
  const period = { '2026-01-01': instantOf(first), '2026-04-01': instantOf(await newest(service), 1) }
  const data = join(service.directory, 'data')
  const examples = (isLedger: boolean): Readonly<Record<string, string>> => ({
    '2026-03-01T12:00:00Z': moment.time,
    ...period,
    'http://127.0.0.1:8080': service.url,
    '--data ./data': onCluster ? (isLedger ? '' : '--store') : `--data ${data}`,
    'rollcall.log': join(service.directory, 'log'),
    '--identity 1234': `--identity ${String(host.user['id'])}`,
  })

  /** Runs `rollcall` in the folder of the files. A command of the ledger runs while the service is stopped. */
  const runInFolder = async (command: string, env: NodeJS.ProcessEnv) => {
    const { words, output } = parsed(command)
    const before = process.cwd()
    process.chdir(folder)
    try {
      const ran = await rollcall(words, env)
      if (output !== undefined) await writeFile(output, ran.out)
      return ran
    } finally {
      process.chdir(before)
    }
  }

  type AnswerOptions = {
    readonly texts?: Readonly<Record<string, string>>
    readonly exit?: number
  }
  /** Runs the commands of a question, the last one with the given exit code. Returns the output of each. */
  const answer = async (question: string, { texts = {}, exit = 0 }: AnswerOptions = {}) => {
    const outputs: string[] = []
    const commands = commandsOf(question, { ...texts, ...examples(question === 'Q29') })
    for (const [n, command] of commands.entries()) {
      // Only an administrator may erase.
      const token = command.startsWith('rollcall subjects erase') ? service.token : auditor.clientToken
      const env = () => variablesFor(token)
      if (!command.startsWith('rollcall ')) {
        const ran = await run('sh', ['-euc', command], {
          cwd: folder,
          env: { ...process.env, ...env(), PYTHONDONTWRITEBYTECODE: '1' },
        })
        outputs.push(ran.stdout)
        continue
      }
      let ran = { exit: null as number | null, out: '', err: '' }
      const runs = async () => void (ran = await runInFolder(command, env()))
      await (command.startsWith('rollcall ledger ') ? service.reopen(runs) : runs())
      const expected = n === commands.length - 1 ? exit : 0
      if (ran.exit !== expected) throw new Error(`${question}, ${command}: exit ${ran.exit}, ${ran.err}`)
      outputs.push(ran.out)
    }
    return outputs
  }

  return {
    service,
    settings,
    answer,
    vkey,
    moment,
    launch,
    /** Event of the login of the person who left. */
    login: logins.json.events[0]!,
    /** Subject of the person who left. */
    person: logins.json.events[0]!.subject!,
    tokens: { alice, auditor, ci, late, leaked },
    file: (name: string) => join(folder, name),
    /** Events that match a query, of at most one page. */
    events: async (search: string): Promise<readonly HistoryEvent[]> =>
      (await service.request<HistoryEvents>('GET', `/audit/v1/events?limit=1000&${search}`)).json.events,
  }
}

export type Audited = Awaited<ReturnType<typeof auditedService>>

/** Values of lines of JSON. */
export const jsonLines = (text: string): readonly unknown[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)

/** Events of lines of JSON. The lines of an export have fewer members. */
export const eventLines = (text: string) => jsonLines(text) as readonly HistoryEvent[]
