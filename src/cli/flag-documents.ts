import { type Command, Option } from 'commander'
import { eachTogether } from '../base/concurrency.ts'
import { fail } from '../base/failure.ts'
import type { Flag } from '../contract/flags/flag.ts'
import type { Segment } from '../contract/flags/segment.ts'
import type { Namespace } from '../contract/resource.ts'
import { type Client, segment } from './client/client.ts'
import { all, wholeFlag } from './client/lists.ts'
import { type Contents, documentTree, jsonText, type Tree, yamlText } from './document/tree.ts'
import type { ImportOptions } from './import/run.ts'
import {
  type CommandServices,
  clientOf,
  names,
  type TargetOptions,
  withMoment,
  withReason,
  withTarget,
} from './options.ts'
import { progressBar } from './terminal/progress.ts'
import { printForeign } from './terminal/terminal.ts'
import { writeWhole } from './whole-file.ts'

/** `rollcall import`: creates the flags, segments and namespaces of a document in a running service. */
export const addImport = (program: Command, given: CommandServices): void => {
  withReason(withTarget(program.command('import [files...]'), given))
    .summary('create the flags and segments of documents')
    .description(
      'Creates the namespaces, segments and flags of YAML or JSON documents. All documents, rights and numbers of items are checked before the first write.',
    )
    .option('--stdin', 'read the document from standard input')
    .option('--skip-existing', 'keep existing flags and segments unchanged')
    .option(
      '--drop',
      'change existing flags and segments to the document, and at the end delete those that it does not have',
    )
    .option('--dry-run', 'only print the plan (+ create, * change, ~ skip, - delete) and write nothing')
    .option('-y, --yes', 'skip the confirmation')
    .option('--no-progress', 'no progress bar')
    .action(async (files: readonly string[], options: ImportOptions) => {
      // The module is loaded here because it includes the validation rules of the service; other commands start faster
      // without it.
      const { runImport } = await import('./import/run.ts')
      await runImport(files, options, given)
    })
}

type ExportOptions = TargetOptions & {
  readonly output?: string
  readonly format?: 'yaml' | 'json'
  readonly namespaces?: readonly string[]
  readonly allNamespaces?: boolean
  readonly sortByKey?: boolean
  readonly at?: string
  readonly progress: boolean
}

const inOrder = <T extends { readonly key: string }>(items: readonly T[], sort: boolean): readonly T[] =>
  sort ? items.toSorted((one, other) => (one.key < other.key ? -1 : 1)) : items

type Read = {
  readonly sort: boolean
  readonly at: string | undefined
  readonly progress: (name: string, done: number, total: number) => void
}

const contents = async (client: Client, namespace: Namespace, { sort, at, progress }: Read): Promise<Contents> => {
  const root = `/api/v1/namespaces/${segment(namespace.key)}`
  const segments = await all<Segment>(client, `${root}/segments`, 'segments', { at, whole: true })
  const found = inOrder(await all<Flag>(client, `${root}/flags`, 'flags', { at, whole: true }), sort)
  let done = 0
  const flags = await eachTogether(found, async (flag) => {
    const whole = await wholeFlag(client, flag, at)
    progress(namespace.key, ++done, found.length)
    return { ...whole, flag: { ...flag, variants: inOrder(flag.variants, sort) } }
  })
  return { namespace, flags, segments: inOrder(segments, sort) }
}

const namespacesOf = async (client: Client, { namespaces = ['default'], allNamespaces = false, at }: ExportOptions) => {
  if (allNamespaces) return all<Namespace>(client, '/api/v1/namespaces', 'namespaces', { at, whole: true })
  return eachTogether([...new Set(namespaces)], (key) =>
    client.ask<Namespace>('GET', `/api/v1/namespaces/${segment(key)}`, { query: { at } }),
  )
}

const lost = ({ namespaceKey, key }: Flag): never =>
  fail(
    'conflict',
    `flag "${namespaceKey}/${key}" was changed during the export.`,
    'Repeat the export, or use --at to export the state at one moment.',
  )

const exported = async (options: ExportOptions, given: CommandServices): Promise<void> => {
  const { output = '-', namespaces, allNamespaces = false, sortByKey: sort = false, at, quiet = false } = options
  if (allNamespaces && namespaces) fail('usage', '--namespaces and --all-namespaces cannot be used together.')
  const client = await clientOf(options, given)
  const { clock, terminal } = given
  const { update, end } = progressBar(terminal, clock, { progress: options.progress, quiet, unit: 'flags' })
  const trees: Tree[] = []
  try {
    for (const namespace of inOrder(await namespacesOf(client, options), sort)) {
      const progress = (name: string, done: number, total: number) => update({ name, done, total })
      trees.push(documentTree(await contents(client, namespace, { sort, at, progress }), lost))
    }
  } finally {
    end()
  }
  const [only, ...others] = trees
  const format = options.format ?? (/\.json$/i.test(output) ? 'json' : 'yaml')
  const texts = {
    yaml: () => trees.map(yamlText).join('---\n'),
    json: () => jsonText(only !== undefined && others.length === 0 ? only : trees),
  }
  const text = texts[format]()
  if (output === '-') return printForeign(terminal, text)
  await writeWhole(output, text)
  if (!quiet)
    terminal.info(`Exported ${trees.length === 1 ? '1 namespace' : `${trees.length} namespaces`} to ${output}.`)
}

/**
 * `rollcall export`: writes the flags and segments of a running service as a document (api.md §13). The same state
 * produces the same bytes.
 */
export const addExport = (program: Command, given: CommandServices): void => {
  withMoment(withTarget(program.command('export'), given), given)
    .summary('write flags and segments to a document')
    .description('Writes namespaces with their flags and segments as a YAML stream or JSON that import reads.')
    .option('-o, --output <file>', 'output file, - for standard output', '-')
    .addOption(
      new Option(
        '--format <format>',
        'format of the document: yaml or json (default: by the file name, else yaml)',
      ).choices(['yaml', 'json']),
    )
    .option('-n, --namespaces <keys>', 'comma-separated namespaces (default: default)', names)
    .option('--all-namespaces', 'every namespace')
    .option('--sort-by-key', 'sort flags, segments and variants by key instead of by time of creation')
    .option('--no-progress', 'no progress bar')
    .action((options: ExportOptions) => exported(options, given))
}
