import { type TSchema, Type } from 'typebox'
import { inPlace, invalid } from '../../errors.ts'
import type { Field, Input } from './field.ts'
import { absent, list, optional, text } from './fields.ts'
import { type Fields, input, member, type ReadOf } from './input.ts'
import { objectOf, type Raw, textOf } from './value.ts'

/** What one kind of change may carry, and what it is read to; `place` names it in the request. */
export type ChangeKind<T> = { readonly schema: TSchema; readonly read: (raw: Raw, place: string) => T }
type Kinds = Readonly<Record<string, ChangeKind<unknown>>>
type ReadAs<K> = K extends ChangeKind<infer T> ? T : never
/** One change of any of the kinds, told by its `op`. */
export type ChangeOf<K extends Kinds> = { [O in keyof K & string]: { readonly op: O } & ReadAs<K[O]> }[keyof K & string]

const MOST = 200

/** What a new part is called by later changes, which have no id for it yet. */
export const ref = text({ max: 255, control: false })
/** The part that a change is about, by its id or its ref. */
export const id = text({ required: true, max: 255 })

/** The same members, each of which may be left out. */
export const partly = <F extends Fields>(fields: F) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, optional(field)])) as {
    readonly [K in keyof F]: F[K] extends Field<infer T> ? Field<T | undefined> : never
  }

/** A kind of change of these members, and what they come to; its refusals name the place of the change. */
export const kind = <F extends Fields, T = ReadOf<F>>(
  fields: F,
  meant: (read: ReadOf<F>) => T = (read) => read as unknown as T,
): ChangeKind<T> => {
  const { schema, read } = input(fields)
  return {
    schema,
    read: (raw, place) => {
      const members = read(raw, place)
      return inPlace(place, () => meant(members))
    },
  }
}

const change = <K extends Kinds>(kinds: K, name: string): Field<ChangeOf<K>> => {
  const schemas = Object.entries(kinds).map(([op, { schema }]) =>
    Type.Intersect([Type.Object({ op: Type.Literal(op) }), schema]),
  )
  return {
    schema: Type.Union(schemas, { $id: name }),
    read: (value, place) => {
      const raw = absent(value) ? invalid(place, 'must not be empty') : objectOf(value, place)
      const given = member(raw, 'op')
      const op = given === undefined ? invalid(`${place}.op`, 'must not be empty') : textOf(given, `${place}.op`)
      const found = Object.hasOwn(kinds, op) ? kinds[op]! : invalid(`${place}.op`, `unknown value "${op}"`)
      return { ...(found.read(raw, place) as object), op } as unknown as ChangeOf<K>
    },
  }
}

/** Body of several changes as one; OpenAPI calls each of them `name`. A ref names one part. */
export const changesOf = <const K extends Kinds>(
  kinds: K,
  name: string,
): Input<{ readonly changes: readonly ChangeOf<K>[] }> => {
  const { schema, read } = input({ changes: list(change(kinds, name), { min: 1, max: MOST }) }, `${name}s`)
  return {
    schema,
    read: (raw) => {
      const body = read(raw)
      const refs = new Set<string>()
      for (const [n, change] of body.changes.entries()) {
        if (!('ref' in change) || typeof change.ref !== 'string' || change.ref === '') continue
        if (refs.has(change.ref)) invalid(`changes[${n}].ref`, 'must be unique')
        refs.add(change.ref)
      }
      return body
    },
  }
}
