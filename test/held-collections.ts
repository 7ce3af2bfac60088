import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type CallExpression, type Expression, type Function, type Node, type ObjectExpression, parse } from 'acorn'
import { root } from './root.ts'

/** A collection that may outlive the call that creates it: file below `src`, and variable or property. */
export type Held = { readonly file: string; readonly name: string }

type Visit = { readonly node: Node; readonly above: readonly Node[] }
type Site = Visit & { readonly name: string }
type Creation = Site & { readonly kind: string; readonly owner: Function | undefined }

/** Folders whose code runs once: verbs of the command line, the configuration, and work on the data of a stopped service. */
const ONCE = /^(?:cli|config|verifier\/check|app\/migrate|app\/backup|app\/offline)\//
const CLASSES = new Set(['Map', 'Set', 'LRUCache', 'Array'])
const GROWTH = new Set(['set', 'add', 'push', 'unshift'])
/** Methods that have called their argument when they return. */
const AT_ONCE = new Set(
  'every filter find findIndex findLast flatMap forEach from fromEntries map reduce some sort toSorted'.split(' '),
)
/** Methods that keep their argument and call it later. */
const LATER = new Set('addEventListener addHook after on once tap'.split(' '))

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value
const isFunction = (node: Node): node is Function =>
  ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].includes(node.type)
const is = <T extends Node['type']>(node: Node | null | undefined, type: T): node is Extract<AnyNode, { type: T }> =>
  node?.type === type
type AnyNode = import('acorn').AnyNode

/** All nodes below a node, each with the nodes above it. */
const visits = (node: Node, above: readonly Node[] = [], found: Visit[] = []): readonly Visit[] => {
  found.push({ node, above })
  const below = [...above, node]
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isNode(child)) visits(child, below, found)
  return found
}

/** Name of a variable, or of the last property of a member expression. */
const nameOf = (node: Node | null | undefined): string | undefined => {
  if (is(node, 'Identifier')) return node.name
  if (is(node, 'ChainExpression')) return nameOf(node.expression)
  return is(node, 'MemberExpression') && !node.computed ? nameOf(node.property) : undefined
}
const methodOf = (node: Node | undefined): string | undefined =>
  is(node, 'CallExpression') && is(node.callee, 'MemberExpression') ? nameOf(node.callee.property) : undefined
const isArgument = (node: Node, call: Node | undefined): call is CallExpression =>
  is(call, 'CallExpression') && call.arguments.includes(node as Expression)

/** Functions around a node, without the callbacks of methods that call them at once. */
const functionsAround = (above: readonly Node[]): readonly Function[] =>
  above.filter(isFunction).filter((node) => {
    const call = above[above.indexOf(node) - 1]
    return !(isArgument(node, call) && AT_ONCE.has(methodOf(call) ?? ''))
  })

/** Kind of the collection that an expression creates: its class, or an empty literal. */
const kindOf = (node: Node | null | undefined): string | undefined => {
  if (is(node, 'NewExpression')) return CLASSES.has(nameOf(node.callee) ?? '') ? nameOf(node.callee) : undefined
  if (is(node, 'ArrayExpression')) return node.elements.length === 0 ? 'array' : undefined
  return is(node, 'ObjectExpression') && node.properties.length === 0 ? 'object' : undefined
}

/** Variables and properties that are created as a collection. */
const creationsIn = (all: readonly Visit[]): readonly Creation[] =>
  all.flatMap(({ node, above }) => {
    const bound: (readonly [Node | null | undefined, Node | null | undefined])[] = []
    if (is(node, 'VariableDeclarator') && is(node.id, 'ArrayPattern') && is(node.init, 'ArrayExpression'))
      for (const [n, element] of node.id.elements.entries()) bound.push([element, node.init.elements[n]])
    else if (is(node, 'VariableDeclarator')) bound.push([node.id, node.init])
    else if (is(node, 'Property') && is(above.at(-1), 'ObjectExpression')) bound.push([node.key, node.value])
    return bound.flatMap(([target, value]) => {
      const [name, kind] = [nameOf(target), kindOf(value)]
      return name === undefined || kind === undefined
        ? []
        : [{ node, above, name, kind, owner: functionsAround(above).at(-1) }]
    })
  })

/** Places at which a collection grows or a variable gets another one. */
const growthIn = (all: readonly Visit[]): readonly Site[] =>
  all.flatMap(({ node, above }) => {
    const targets: (Node | null)[] = []
    if (is(node, 'CallExpression') && is(node.callee, 'MemberExpression') && GROWTH.has(methodOf(node) ?? ''))
      targets.push(node.callee.object)
    if (is(node, 'AssignmentExpression')) {
      if (is(node.left, 'MemberExpression') && node.left.computed) targets.push(node.left.object)
      else if (is(node.left, 'ArrayPattern')) targets.push(...node.left.elements)
      else targets.push(node.left)
    }
    return targets.flatMap((target) => {
      const name = nameOf(target)
      return name === undefined ? [] : [{ node, above, name }]
    })
  })

/** Expressions that a function returns. */
const returnedBy = ({ body }: Function): readonly Node[] =>
  is(body, 'BlockStatement')
    ? visits(body).flatMap(({ node, above }) =>
        is(node, 'ReturnStatement') && node.argument && !above.some(isFunction) ? [node.argument] : [],
      )
    : [body]

/** Values of an object literal. */
const valuesOf = ({ properties }: ObjectExpression): readonly Node[] =>
  properties.map((property) => (is(property, 'SpreadElement') ? property.argument : property.value))

/** True if a value of `owner` holds functions, which may run after `owner` has returned. */
const holdsFunctions = (owner: Function, value: Node, depth = 0): boolean => {
  if (isFunction(value)) return true
  if (depth > 4) return false
  const holds = (inner: Node): boolean => holdsFunctions(owner, inner, depth + 1)
  if (is(value, 'ObjectExpression'))
    return value.properties.some((property) => is(property, 'SpreadElement')) || valuesOf(value).some(holds)
  if (is(value, 'ArrayExpression')) return value.elements.some((element) => element !== null && holds(element))
  if (is(value, 'ConditionalExpression')) return holds(value.consequent) || holds(value.alternate)
  if (!is(value, 'Identifier')) return false
  const { name } = value
  return visits(owner.body).some(
    ({ node }) => is(node, 'VariableDeclarator') && nameOf(node.id) === name && !!node.init && holds(node.init),
  )
}

/** True if a function around a place is kept by a listener or a timer. */
const runsLater = ({ above }: Visit): boolean =>
  above.some((node, n) => isFunction(node) && isArgument(node, above[n - 1]) && LATER.has(methodOf(above[n - 1]) ?? ''))

const isNamed = (node: Node | null, name: string): boolean => is(node, 'Identifier') && node.name === name

/** True if a collection is a value of an object or array, or an argument of another function. */
const isHandedOn = (owner: Function, name: string): boolean =>
  visits(owner.body).some(({ node }) => {
    if (is(node, 'Property')) return isNamed(node.value, name)
    if (is(node, 'ArrayExpression')) return node.elements.some((one) => isNamed(one, name))
    return is(node, 'CallExpression') && node.arguments.some((one) => isNamed(one, name))
  })

const isHeld = ({ node, above, name, kind, owner }: Creation, growth: readonly Site[]): boolean => {
  if (kind === 'LRUCache') return true
  const grown = growth.filter((site) => site.name === name)
  const literal = kind === 'array' || kind === 'object'
  // A record. A collection with content that nothing in the file adds to is a constant.
  if (is(node, 'Property'))
    return grown.length > 0 || (is(node.value, 'NewExpression') && node.value.arguments.length === 0)
  const inside = grown.filter((site) => {
    const around = functionsAround(site.above)
    return (!owner || around.includes(owner)) && around.length > functionsAround(above).length
  })
  if (!owner) return inside.length > 0
  const returned = returnedBy(owner)
  const isReturned = returned.some(
    (value) => is(value, 'ObjectExpression') && valuesOf(value).some((one) => isNamed(one, name)),
  )
  if (isReturned && !literal) return true
  if (inside.some(runsLater)) return true
  const isFactory = returned.some((value) => holdsFunctions(owner, value))
  return isFactory && (inside.length > 0 || (!literal && isHandedOn(owner, name)))
}

/** Collections of one compiled module that may outlive the call that creates them. */
export const heldIn = (code: string): readonly string[] => {
  const all = visits(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }))
  const growth = growthIn(all)
  return [...new Set(creationsIn(all).flatMap((one) => (isHeld(one, growth) ? [one.name] : [])))]
}

/** Collections of the service that may outlive the call that creates them. */
export const heldCollections = (): readonly Held[] =>
  readdirSync(resolve(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !ONCE.test(file))
    .toSorted()
    .flatMap((file) =>
      heldIn(readFileSync(resolve(root, 'dist/src', file.replace(/ts$/, 'js')), 'utf8')).map((name) => ({
        file,
        name,
      })),
    )
