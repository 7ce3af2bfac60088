import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { bytesNow, whyUnread } from '../base/regular-file.ts'
import type { Problem } from './problem.ts'

/** A configuration file: its values, with maps as Map, and the locations of its keys. */
type ConfigFile = {
  readonly tree: unknown
  readonly placeOf: (key: string) => string
  readonly problems: readonly Problem[]
}

/** Loads the YAML parser on first use; a start without a file does not need it. */
const yaml = () => createRequire(import.meta.url)('yaml') as typeof import('yaml')

/** Parses JSON with maps as Map, which keeps the order of fields. Throws the same errors as JSON.parse. */
export const orderedJson = (text: string): unknown => {
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
