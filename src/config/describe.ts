import { type Group, isDerived, isMany, isSetting, keyIn, membersOf, type Node } from './setting.ts'
import { type Config, settings } from './settings.ts'

type Plain = { readonly [key: string]: unknown }

const shown = (node: Node, value: unknown): unknown => {
  if (isSetting(node)) return value === undefined ? undefined : node.kind.show(value)
  const inner = (name: string) => (isMany(node) ? node.each : node[name]!)
  const entries = membersOf(value as object).map(([name, entry]) => [name, shown(inner(name), entry)] as const)
  return Object.fromEntries(entries.filter(([, entry]) => entry !== undefined))
}

/**
 * Effective configuration in the structure of the file, for GET /meta/config. Omits secrets and URLs that may contain
 * one.
 */
export const publicConfig = (config: Config): Plain => shown(settings, config) as Plain

/** Public configuration as a flat list of keys and values. */
export const publicSettings = (config: Config): readonly (readonly [key: string, value: unknown])[] => {
  const flatten = (node: Node, value: unknown, key: string): readonly (readonly [string, unknown])[] => {
    if (isSetting(node)) return [[key, value]]
    return Object.entries(value as Plain).flatMap(([name, entry]) =>
      flatten(isMany(node) ? node.each : node[name]!, entry, keyIn(key, name)),
    )
  }
  return flatten(settings, publicConfig(config), '')
}

const schemaOf = (node: Node): Plain => {
  if (isSetting(node)) {
    const { kind, initial, sentence } = node
    const plain = initial === undefined || isDerived(initial) ? undefined : kind.show(initial)
    return { description: sentence, ...kind.schema, ...(plain === undefined ? {} : { default: plain }) }
  }
  if (isMany(node)) {
    const patternProperties = { [node.names.source]: schemaOf(node.each) }
    return { description: node.sentence, type: ['object', 'null'], patternProperties, additionalProperties: false }
  }
  const properties = Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, schemaOf(inner)]))
  return { type: ['object', 'null'], properties, additionalProperties: false }
}

/** JSON Schema (2020-12) of the file. Nothing is required, because any setting may come from the environment. */
export const configSchema = (): Plain => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Rollcall configuration',
  ...schemaOf(settings),
})

const SAMPLES: Plain = {
  issuer_url: 'https://id.example.com',
  client_id: 'rollcall',
  client_secret: 'from the provider',
}

const scalar = (value: unknown): string =>
  typeof value === 'string' && /^[a-zA-Z./][a-zA-Z0-9:/._-]*$/.test(value) ? value : JSON.stringify(value)

const lines = (group: Group, indent: string): readonly string[] =>
  Object.entries(group).flatMap(([name, node]) => {
    if (isMany(node))
      return [
        `${indent}# ${node.sentence}`,
        `${indent}#${name}:`,
        `${indent}  #example:`,
        ...lines(node.each, `${indent}    `),
      ]
    if (!isSetting(node)) return [`${indent}${name}:`, ...lines(node, `${indent}  `)]
    const { kind, initial, sentence } = node
    const value = isDerived(initial) ? SAMPLES[name] : initial === undefined ? undefined : kind.show(initial)
    const note = isDerived(initial)
      ? ` (${initial.shown.startsWith('required') ? '' : 'default: '}${initial.shown.replaceAll('`', '')})`
      : ''
    return [`${indent}# ${sentence}${note}`, `${indent}#${name}:${value === undefined ? '' : ` ${scalar(value)}`}`]
  })

/** Text of rollcall.example.yml: every setting, commented out, with its default and its description. */
export const exampleFile = (): string => {
  const head = [
    '# All settings of Rollcall with their defaults. Remove the # of a setting to change it.',
    '# Every setting is also an environment variable: see docs/config.md. Generated from src/config: do not edit.',
  ]
  const top = lines(settings, '').flatMap((line) => (/^[a-z]/.test(line) ? ['', line] : [line]))
  return `${[...head, '', ...top].join('\n')}\n`
}
