import { type TSchema, Type } from 'typebox'
import { inPlace, invalid } from '../../base/errors.ts'
import { context, entityId } from '../entity.ts'
import { absent, flag, list, object, optional, text } from './fields.ts'
import { type Fields, input, member, query, type ReadOf } from './input.ts'
import { type Field, type Input, objectOf, type Raw, textOf } from './value.ts'

/** One kind of change: its schema and its reader. `place` names the change in the request. */
type ChangeKind<T> = { readonly schema: TSchema; readonly read: (raw: Raw, place: string) => T }
type Kinds = Readonly<Record<string, ChangeKind<unknown>>>
type ReadAs<K> = K extends ChangeKind<infer T> ? T : never
/** One change of any of the kinds, selected by `op`. */
export type ChangeOf<K extends Kinds> = { [O in keyof K & string]: { readonly op: O } & ReadAs<K[O]> }[keyof K & string]

const MOST = 200

/** Name of a new part, for later changes of the same request, because it has no id yet. */
export const ref = text({ max: 255, control: false })
/** The rule, rollout, variant or constraint to change, by its id or reference. */
export const id = text({ required: true, max: 255 })

/** Makes all fields optional. */
export const partly = <F extends Fields>(fields: F) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, optional(field)])) as {
    readonly [K in keyof F]: F[K] extends Field<infer T> ? Field<T | undefined> : never
  }

/** Defines a kind of change. `meant` converts its fields. Refusals of `meant` contain the index of the change. */
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

const trialEntity = optional(object(input({ entityId, context })))
/** Entity whose answers a dry run compares; undefined if the body names none. */
export type TrialEntity = ReturnType<(typeof trialEntity)['read']>

/** Query that tries the changes without a write. */
export const dryRunQuery = query({ dryRun: flag() })
/** Query of a dry run whose answers for an entity can be explained. */
export const explainedDryRunQuery = query({ dryRun: flag(), explain: flag() })

/**
 * Body with several changes that are applied as one, and the entity of a dry run. OpenAPI calls each change `name`.
 * References must be unique.
 */
export const changesOf = <const K extends Kinds>(
  kinds: K,
  name: string,
): Input<{ readonly changes: readonly ChangeOf<K>[]; readonly evaluate: TrialEntity }> => {
  const changes = list(change(kinds, name), { min: 1, max: MOST })
  const { schema, read } = input({ changes, evaluate: trialEntity }, `${name}s`)
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
