import type { Command } from 'commander'

/** Verbs on the history, in the order of the help. A verb with subcommands stands for all of them. */
const VERBS = [
  'events',
  'checkpoint',
  'prove',
  'verify-proof',
  'state',
  'diff',
  'token find',
  'subjects',
  'ledger',
  'backup',
  'restore',
  'export',
  'import',
  'log',
  'migrate',
] as const

const TEXT = `Verbs on the history:

TABLE

Sources: the service at --address; --data DIR an embedded store, also while a
service uses it; --store the servers of --config.
MOMENT: an RFC 3339 time, a day, -1h, a position such as #12, or an index such as @3.
Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 check failed or
difference, 4 not found, 5 not allowed, 6 conflict, 7 unavailable, 130 interrupted
`

/** The command with these words; its subcommands, if it has any. */
const commandsOf = (
  root: Command,
  words: readonly string[],
): readonly (readonly [name: string, command: Command])[] => {
  const found = words.reduce<Command | undefined>((at, word) => at?.commands.find((one) => one.name() === word), root)
  if (!found) return []
  const name = words.join(' ')
  return found.commands.length === 0
    ? [[name, found]]
    : found.commands.map((command) => [`${name} ${command.name()}`, command] as const)
}

const argumentsOf = ({ registeredArguments }: Command): string =>
  registeredArguments.map((one) => (one.required ? ` <${one.name()}>` : ` [${one.name()}]`)).join('')

/** Help of all verbs on the history, made from the commands of the program. */
export const historyHelp = (root: Command): string => {
  const rows = VERBS.flatMap((verb) => commandsOf(root, verb.split(' '))).map(
    ([name, command]) => [`${name}${argumentsOf(command)}`, command.summary() || command.description()] as const,
  )
  const width = Math.max(...rows.map(([usage]) => usage.length))
  return TEXT.replace('TABLE', rows.map(([usage, summary]) => `  ${usage.padEnd(width)}  ${summary}`).join('\n'))
}
