import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { bytesNow, whyUnread } from '../base/regular-file.ts'
import { TRACES } from './addresses.ts'
import { didYouMean, type Problem } from './problem.ts'
import { type Group, leaves, type Setting } from './setting.ts'

/** A configuration file: its values, with maps as Map, and the locations of its keys. */
type ConfigFile = {
  readonly tree: unknown
  readonly placeOf: (key: string) => string
  readonly problems: readonly Problem[]
}

/** Loads the YAML parser on first use; a start without a file does not need it. */
const yaml = () => createRequire(import.meta.url)('yaml') as typeof import('yaml')

/** Parses JSON with maps as Map, which keeps the order of fields. Throws the same errors as JSON.parse. */
const orderedJson = (text: string): unknown => {
  const value: unknown = JSON.parse(text)
  return typeof value === 'object' ? (yaml().parse(text, { mapAsMap: true }) as unknown) : value
}

/** Reads a YAML or JSON file. Errors are reported without quoting the file, which may contain secrets. */
export const readConfigFile = (path: string): ConfigFile => {
  const name = basename(path)
  let content: string
  try {
    content = bytesNow(path).toString()
  } catch (error) {
    return {
      tree: undefined,
      placeOf: () => name,
      problems: [{ key: path, description: `cannot be read (${whyUnread(error)})`, place: '' }],
    }
  }
  const { isMap, isScalar, LineCounter, parseDocument } = yaml()
  const counter = new LineCounter()
  const document = parseDocument(content, { lineCounter: counter, prettyErrors: false, strict: true })
  const lineOf = (offset: number) => `${name} line ${counter.linePos(offset).line}`

  const problems = [...document.errors, ...document.warnings].map(({ code, pos }) => {
    const description =
      code === 'DUPLICATE_KEY'
        ? 'a key is duplicated'
        : `is not valid YAML or JSON (${code.toLowerCase().replaceAll('_', ' ')})`
    return { key: path, description, place: lineOf(pos[0]) }
  })
  let tree: unknown
  try {
    tree = problems.length > 0 ? undefined : document.toJS({ maxAliasCount: 100, mapAsMap: true })
  } catch {
    problems.push({
      key: path,
      description: 'has an alias (*name) without an anchor, or too many aliases',
      place: name,
    })
  }

  const lines = new Map<string, number>()
  const note = (node: unknown, prefix: string): void => {
    if (!isMap(node)) return
    for (const { key, value } of node.items) {
      if (!isScalar(key) || !key.range) continue
      lines.set(`${prefix}${String(key.value)}`, key.range[0])
      note(value, `${prefix}${String(key.value)}.`)
    }
  }
  note(document.contents, '')
  const placeOf = (key: string): string => {
    const offset = lines.get(key)
    return offset === undefined ? name : lineOf(offset)
  }
  return { tree, placeOf, problems }
}

export type Environment = Readonly<Record<string, string | undefined>>

/** A setting by its key with an unparsed value. A whole map of groups (`providers`) has its own key. */
export type GivenSetting = { readonly key: string; readonly value: unknown; readonly place: string }

const PREFIX = 'ROLLCALL_'
/** Variables with the prefix that are not settings: those of the command line, the build and the tests. */
const OTHERS = /^ROLLCALL_(CONFIG|ADDRESS|TOKEN|TOKEN_FILE|COMMIT|BUILD_DATE|TEST_.*)$/

/** Environment variable of a key. */
export const variableOf = (key: string): string => PREFIX + key.toUpperCase().replaceAll('.', '_')

const USUAL = ['https_proxy', 'http_proxy', 'no_proxy'] as const
/**
 * Address of the collector of traces from the standard variables of OpenTelemetry. An address for traces is used
 * unchanged, also without a path.
 */
const readOtel = (env: Environment): readonly GivenSetting[] => {
  const key = 'tracing.otlp_endpoint'
  const [own, base] = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT']
  const traces = env[own]?.trim()
  if (traces) return [{ key, value: URL.canParse(traces) ? new URL(traces) : traces, place: own }]
  const all = env[base]?.trim()
  return all ? [{ key, value: all.replace(/\/+$/, '') + TRACES, place: base }] : []
}

/** Settings from the usual proxy variables. The lower-case variable has priority; empty ones are ignored. */
const readProxies = (env: Environment): readonly GivenSetting[] =>
  USUAL.flatMap((name) => {
    const place = [name, name.toUpperCase()].find((variable) => env[variable]?.trim())
    if (place === undefined) return []
    const content = env[place]!.trim()
    return [
      {
        key: `outgoing.${name}`,
        value: name === 'no_proxy' ? content.split(/[\s,]+/).filter(Boolean) : content,
        place,
      },
    ]
  })

/** Settings from the usual proxy variables, and from those of OpenTelemetry. */
export const readUsual = (env: Environment): readonly GivenSetting[] => [...readProxies(env), ...readOtel(env)]

type Target = { readonly key: string; readonly setting?: Setting<unknown> }

/** Finds the setting of a variable; names within a map are converted to lower case. */
const finder = (table: Group): ((variable: string) => Target | undefined) => {
  const exact = new Map<string, Target>()
  const patterns: (readonly [RegExp, string, Setting<unknown>])[] = []
  for (const [key, setting] of leaves(table)) {
    const [map, ...members] = key.split('.*')
    exact.set(variableOf(map!), members.length > 0 ? { key: map! } : { key, setting })
    if (members.length > 0) patterns.push([new RegExp(`^${variableOf(key).replace('*', '(.+)')}$`), key, setting])
  }
  return (variable) => {
    const found = exact.get(variable)
    if (found) return found
    for (const [pattern, key, setting] of patterns) {
      const name = pattern.exec(variable)?.[1]
      if (name !== undefined) return { key: key.replace('*', name.toLowerCase()), setting }
    }
    return undefined
  }
}

const json = (text: string): unknown => {
  try {
    return orderedJson(text)
  } catch {
    return text
  }
}

/**
 * Settings from the environment. An unknown variable with the prefix is only a warning, because other programs may have
 * set it.
 */
export const readEnvironment = (env: Environment, table: Group) => {
  const find = finder(table)
  const given: GivenSetting[] = []
  const warnings: string[] = []
  const problems: Problem[] = []

  const take = (name: string, content: string): void => {
    const target = find(name)
    if (target) {
      const { key, setting } = target
      given.push({ key, value: setting ? setting.kind.parse(content) : json(content), place: name })
      return
    }
    const base = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : undefined
    const named = base === undefined ? undefined : find(base)
    if (base === undefined || named?.setting?.kind.textual !== true) {
      const known = leaves(table).map(([key]) => variableOf(key))
      warnings.push(`${name} is not a setting and has no effect${didYouMean(name, known, true)}`)
    } else if (env[base] !== undefined) {
      problems.push({ key: named.key, description: `is set twice: by ${base} and by ${name}`, place: name })
    } else {
      try {
        given.push({
          key: named.key,
          value: bytesNow(content)
            .toString()
            .replace(/\r?\n$/, ''),
          place: name,
        })
      } catch (error) {
        const description = `the file of ${name} cannot be read (${whyUnread(error)})`
        problems.push({ key: named.key, description, place: name })
      }
    }
  }
  for (const [name, content] of Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (content !== undefined && name.startsWith(PREFIX) && !OTHERS.test(name)) take(name, content)
  }
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    warnings.push(
      'NODE_TLS_REJECT_UNAUTHORIZED=0 switches the checks of all certificates off, so other servers can pose as those of this service: remove it, and set the authority of each server (ca_path, ca_file, tlsCAFile)',
    )
  return { given, warnings, problems }
}
