import { openAccessWarnings } from './checks/reach-rules.ts'
import { errors, warnings } from './checks/rules.ts'
import {
  type Environment,
  type GivenSetting,
  readConfigFile,
  readEnvironment,
  readUsual,
  variableOf,
} from './environment.ts'
import { configError, didYouMean, type Problem } from './problem.ts'
import { type Group, isDerived, isMany, isSetting, keyIn, leaves, membersOf, type Node, required } from './setting.ts'
import { type Config, settings } from './settings.ts'

export type { Config } from './settings.ts'

/**
 * `meant` lists intentionally open access. `sources` maps each key to the source of its value: `default`, a line of the
 * file, a variable or a flag.
 */
export type Loaded = {
  readonly config: Config
  readonly warnings: readonly string[]
  readonly meant: readonly string[]
  readonly sources: ReadonlyMap<string, string>
}

/**
 * Sources of the configuration. `flags` are texts of the command line by key. Priority, highest first: flags,
 * environment, file, usual proxy variables.
 */
type LoadOptions = {
  readonly file?: string
  readonly env: Environment
  readonly flags?: Readonly<Record<string, string>>
}

/** Groups that may contain unknown settings. */
const OPEN = new Set(['authentication.methods.jwt'])
const TABLE: Group = settings

/** Converts maps to objects, as settings read them. */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain)
  return value instanceof Map
    ? Object.fromEntries(membersOf(value).map(([name, member]) => [name, plain(member)]))
    : value
}

type Reading = {
  readonly given: Map<string, GivenSetting>
  readonly names: Map<string, Set<string>>
  readonly problems: Problem[]
}

/** Merges a tree of settings into the settings read so far. */
const merge = (node: Node, value: unknown, key: string, placeOf: (key: string) => string, reading: Reading): void => {
  if (value === undefined || value === null) return
  const problem = (description: string, at = key) =>
    reading.problems.push({ key: at || 'the file', description, place: placeOf(at) })
  if (isSetting(node)) {
    reading.given.set(key, { key, value: plain(value), place: placeOf(key) })
    return
  }
  if (typeof value !== 'object' || Array.isArray(value)) {
    problem('expected a map of settings')
    return
  }
  const inner = (name: string) => keyIn(key, name)
  for (const [name, entry] of membersOf(value)) {
    if (isMany(node)) {
      if (!node.names.test(name)) problem(`the name must match ${node.names.source}`, inner(name))
      else {
        reading.names.set(key, (reading.names.get(key) ?? new Set()).add(name))
        merge(node.each, entry, inner(name), placeOf, reading)
      }
    } else if (Object.hasOwn(node, name)) merge(node[name]!, entry, inner(name), placeOf, reading)
    else if (!OPEN.has(key)) problem(`is not a setting${didYouMean(name, Object.keys(node), true)}`, inner(name))
  }
}

/** Merges one value, by its key, into the settings read so far. */
const mergeOne = ({ key, value, place }: GivenSetting, reading: Reading): void => {
  const wrap = (path: readonly string[]): unknown => (path.length === 0 ? value : { [path[0]!]: wrap(path.slice(1)) })
  merge(TABLE, wrap(key.split('.')), '', () => place, reading)
}

const assemble = (node: Node, names: Reading['names'], values: ReadonlyMap<string, unknown>, key = ''): unknown => {
  if (isSetting(node)) return values.get(key)
  if (isMany(node))
    return new Map(
      Array.from(names.get(key) ?? [], (name) => [name, assemble(node.each, names, values, `${key}.${name}`)]),
    )
  return Object.fromEntries(
    Object.entries(node).map(([name, inner]) => [name, assemble(inner, names, values, keyIn(key, name))]),
  )
}

/**
 * Reads all sources and checks all rules of api.md §12. Throws one ConfigError with all problems; no message contains a
 * value that may be secret.
 */
export const loadConfig = ({ file, env, flags = {} }: LoadOptions): Loaded => {
  const reading: Reading = { given: new Map(), names: new Map(), problems: [] }
  for (const given of readUsual(env)) mergeOne(given, reading)
  if (file !== undefined) {
    const { tree, placeOf, problems } = readConfigFile(file)
    reading.problems.push(...problems)
    merge(TABLE, tree, '', placeOf, reading)
  }
  const environment = readEnvironment(env, TABLE)
  reading.problems.push(...environment.problems)
  for (const given of environment.given) mergeOne(given, reading)
  const flagged = readEnvironment(
    Object.fromEntries(Object.entries(flags).map(([key, text]) => [variableOf(key), text])),
    TABLE,
  )
  for (const given of flagged.given) mergeOne({ ...given, place: 'command line' }, reading)

  const values = new Map<string, unknown>()
  const faulty = new Set(reading.problems.map(({ key }) => key))
  const fault = (key: string, description: string, part = ''): undefined => {
    faulty.add(key)
    reading.problems.push({ key: key + part, description, place: reading.given.get(key)?.place ?? '' })
    return undefined
  }
  const all = leaves(TABLE, '', (map) => reading.names.get(map) ?? [])
  for (const [key, { kind, initial }] of all) {
    const given = reading.given.get(key)
    const value = given && kind.read(given.value, (description, part) => fault(key, description, part))
    values.set(key, value ?? (isDerived(initial) ? undefined : initial))
  }
  for (const [key, { initial }] of all) {
    if (values.get(key) !== undefined || !isDerived(initial) || faulty.has(key)) continue
    if (initial === required) fault(key, 'is required')
    else
      values.set(
        key,
        initial.from((other) => values.get(other)),
      )
  }
  const config = assemble(TABLE, reading.names, values) as Config
  const unread = new Set(faulty)
  for (const [key, description, part] of errors(config)) if (!unread.has(key)) fault(key, String(description), part)
  if (reading.problems.length > 0) throw configError(reading.problems)
  const sources = new Map(all.map(([key]) => [key, reading.given.get(key)?.place ?? 'default']))
  const doors = openAccessWarnings(config)
  return {
    config,
    warnings: [...environment.warnings, ...warnings(config), ...doors.warnings],
    meant: doors.meant,
    sources,
  }
}
