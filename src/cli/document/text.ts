import { randomUUID } from 'node:crypto'

/** JSON text, written inline and unchanged. */
type Inline = { readonly json: string }
type Leaf = string | number | boolean | Inline
/** Node of a document; undefined members are omitted. */
export type Tree = Leaf | readonly Tree[] | { readonly [name in string]: Tree | undefined }

const isLeaf = (tree: unknown): tree is Leaf => typeof tree !== 'object' || (tree !== null && 'json' in tree)

/** Characters that strict YAML readers reject or treat as line breaks. */
const ESCAPED = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g

/** Texts that need no quotes in any version of YAML. */
const PLAIN = /^[\p{L}_][\p{L}\p{N}_.,/()+-]*(?: [\p{L}\p{N}_.,/()+-]+)*$/u
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i

const leaf = (value: Leaf): string => {
  if (typeof value === 'object') return value.json
  if (typeof value === 'string' && PLAIN.test(value) && !WORDS.test(value)) return value
  return JSON.stringify(value).replace(ESCAPED, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const linesOf = (tree: Tree): readonly string[] => {
  if (isLeaf(tree)) return [leaf(tree)]
  const isList = Array.isArray(tree)
  return Object.entries(tree).flatMap(([name, value]) => {
    if (value === undefined) return []
    const [first = '', ...others] = linesOf(value)
    if (isList) return [`- ${first}`, ...others.map((line) => `  ${line}`)]
    return isLeaf(value) ? [`${name}: ${first}`] : [`${name}:`, ...[first, ...others].map((line) => `  ${line}`)]
  })
}

/** One YAML document. The same content produces the same bytes. */
export const yamlText = (tree: Tree): string => `${linesOf(tree).join('\n')}\n`

/** JSON indented by two spaces; inline values stay on one line. */
export const jsonText = (tree: Tree): string => {
  const mark = randomUUID()
  const aside: string[] = []
  const text = JSON.stringify(
    tree,
    (_, value: unknown) =>
      isLeaf(value) && typeof value === 'object' ? `${mark}${aside.push(value.json) - 1}` : value,
    2,
  )
  return `${text.replace(new RegExp(`"${mark}(\\d+)"`, 'g'), (_, index: string) => aside[Number(index)]!)}\n`
}
