import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { HistoryEvent } from '../../../src/contract/history/events.ts'
import { rollcall } from '../../cli/service.ts'
import { clusterOf, onCluster } from '../../cluster/own.ts'
import type { Started } from '../../start.ts'
import type { MadeHistory } from './history.ts'
import { commandsOf, parsed } from './page.ts'

const run = promisify(execFile)

/** Settings of the servers of a service as variables of the command line; none for an embedded store. */
const storeVariables = async ({ directory }: Started): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(
    Object.entries(onCluster ? await clusterOf(directory) : {}).map(([key, value]) => [
      `ROLLCALL_${key.toUpperCase().replaceAll('.', '_')}`,
      value,
    ]),
  )

/** Runs `rollcall` in a folder. */
const rollcallIn = async (folder: string, command: string, env: NodeJS.ProcessEnv) => {
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
  /** Texts in place of further examples of the page. */
  readonly texts?: Readonly<Record<string, string>>
  /** Exit code of the last command. */
  readonly exit?: number
}

/**
 * The history, and `answer`, which runs the commands of a question in a folder and returns the output of each. A command
 * of the ledger runs while the service is stopped.
 */
export const answering = async (history: MadeHistory, folder: string) => {
  const { service, tokens, times, vkey, checkpoint, codehostId } = history
  const variables = await storeVariables(service)
  const file = (name: string) => join(folder, name)
  await writeFile(file('vkey'), `${vkey}\n`)
  await writeFile(file('kept.checkpoint'), checkpoint)
  await writeFile(file('found-token'), tokens.leaked.clientToken)

  const envFor = (command: string): NodeJS.ProcessEnv => ({
    ...variables,
    ROLLCALL_ADDRESS: service.url,
    // An auditor may not erase.
    ROLLCALL_TOKEN: command.startsWith('rollcall subjects erase') ? service.token : tokens.auditor.clientToken,
  })
  const store = onCluster ? '--store' : `--data ${join(service.directory, 'data')}`
  const examples = (question: string): Readonly<Record<string, string>> => ({
    '2026-03-01T12:00:00Z': times.moment,
    '2026-01-01': times.from,
    '2026-04-01': times.to,
    'http://127.0.0.1:8080': service.url,
    // The commands of the ledger have no option --store: they use the servers of the configuration.
    '--data ./data': onCluster && question === 'Q29' ? '' : store,
    'rollcall.log': join(service.directory, 'log'),
    '--identity 1234': `--identity ${codehostId}`,
  })
  const inShell = async (command: string): Promise<string> => {
    const env = { ...process.env, ...envFor(command), PYTHONDONTWRITEBYTECODE: '1' }
    return (await run('sh', ['-euc', command], { cwd: folder, env })).stdout
  }
  const inProcess = async (command: string, exit: number): Promise<string> => {
    let ran: Awaited<ReturnType<typeof rollcall>> | undefined
    const runs = async () => void (ran = await rollcallIn(folder, command, envFor(command)))
    await (command.startsWith('rollcall ledger ') ? service.reopen(runs) : runs())
    if (ran!.exit !== exit) throw new Error(`${command}: exit ${ran!.exit}, ${ran!.err}`)
    return ran!.out
  }

  const answer = async (question: string, { texts = {}, exit = 0 }: AnswerOptions = {}): Promise<readonly string[]> => {
    const commands = commandsOf(question, { ...texts, ...examples(question) })
    const outputs: string[] = []
    for (const [n, command] of commands.entries())
      outputs.push(
        command.startsWith('rollcall ')
          ? await inProcess(command, n === commands.length - 1 ? exit : 0)
          : await inShell(command),
      )
    return outputs
  }
  return { ...history, file, answer }
}

export type Audited = Awaited<ReturnType<typeof answering>>

/** Values of lines of JSON. */
export const jsonLines = (text: string): readonly unknown[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)

/** Events of lines of JSON. The lines of an export have fewer members. */
export const eventLines = (text: string) => jsonLines(text) as readonly HistoryEvent[]
