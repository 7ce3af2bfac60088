/** JSON text, written inline and unchanged. */
type Inline = { readonly json: string }
type Leaf = string | number | boolean | Inline
/** Node of a document; undefined fields are omitted. */
export type Tree = Leaf | readonly Tree[] | { readonly members: Readonly<Record<string, Tree | undefined>> }

const isLeaf = (tree: Tree): tree is Leaf => typeof tree !== 'object' || 'json' in tree
const membersOf = (members: Readonly<Record<string, Tree | undefined>>) =>
  Object.entries(members).filter((member): member is [string, Tree] => member[1] !== undefined)

/** Characters that strict YAML readers reject or treat as line breaks. */
const ESCAPED = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g
const quoted = (text: string): string =>
  JSON.stringify(text).replace(ESCAPED, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Texts that need no quotes in any version of YAML. */
const PLAIN = /^[\p{L}_][\p{L}\p{N}_.,/()+-]*(?: [\p{L}\p{N}_.,/()+-]+)*$/u
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i

const leaf = (value: Leaf): string => {
  if (typeof value === 'object') return value.json
  if (typeof value !== 'string') return JSON.stringify(value)
  return PLAIN.test(value) && !WORDS.test(value) ? value : quoted(value)
}

const yamlLines = (tree: Tree): readonly string[] => {
  if (isLeaf(tree)) return [leaf(tree)]
  if ('members' in tree) {
    return membersOf(tree.members).flatMap(([name, value]) =>
      isLeaf(value) ? [`${name}: ${leaf(value)}`] : [`${name}:`, ...yamlLines(value).map((line) => `  ${line}`)],
    )
  }
  return tree.flatMap((item) => yamlLines(item).map((line, n) => `${n === 0 ? '- ' : '  '}${line}`))
}

/** One YAML document. The same content produces the same bytes. */
export const yamlText = (tree: Tree): string => `${yamlLines(tree).join('\n')}\n`

const json = (tree: Tree, indent: string): string => {
  if (typeof tree !== 'object') return JSON.stringify(tree)
  if ('json' in tree) return tree.json
  const inner = `${indent}  `
  const [open, parts, close] =
    'members' in tree
      ? ['{', membersOf(tree.members).map(([name, value]) => `${JSON.stringify(name)}: ${json(value, inner)}`), '}']
      : ['[', tree.map((item) => json(item, inner)), ']']
  return parts.length === 0
    ? open + close
    : `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`
}

/** JSON indented by two spaces; inline values stay on one line. */
export const jsonText = (tree: Tree): string => `${json(tree, '')}\n`
