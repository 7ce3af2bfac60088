import { type TObject, type TSchema, Type } from 'typebox'
import { canonical } from '../base/canonical.ts'

/**
 * A field of an update event, present only if its value changed, with the old and the new value. The description of the
 * field is that of its value.
 */
export const change = <S extends TSchema>(schema: S) =>
  Type.Optional(Type.Object({ from: schema, to: schema }, { change: true }))

/** Schema of a change of an optional value. `from` or `to` is absent if the field has no value on that side. */
export const changeOfOptional = <S extends TSchema>(schema: S) =>
  Type.Optional(Type.Object({ from: Type.Optional(schema), to: Type.Optional(schema) }, { change: true }))

/** Names of the fields of an update event, or of its part, that hold changes; in the order of the schema. */
export const changeFields = ({ properties }: TObject): readonly string[] =>
  Object.entries<{ readonly change?: true }>(properties).flatMap(([name, { change }]) => (change ? [name] : []))

type Changes<T> = { readonly [K in keyof T]?: { readonly from: T[K]; readonly to: T[K] } }

/**
 * Returns the fields of `to` whose values differ from those of `from` (by canonical JSON); undefined if none does.
 * Fields that are undefined in `to` are ignored.
 */
export const changes = <T extends object>(
  from: T,
  to: { readonly [K in keyof T]?: T[K] | undefined },
): (Changes<T> & object) | undefined => {
  const found = (Object.keys(to) as (keyof T)[])
    .filter((field) => to[field] !== undefined && canonical(to[field]) !== canonical(from[field]))
    .map((field) => [field, { from: from[field], to: to[field] }])
  return found.length > 0 ? (Object.fromEntries(found) as Changes<T> & object) : undefined
}

export type Update<T> = { readonly [K in keyof T]?: T[K] | { readonly from?: T[K]; readonly to?: T[K] } | undefined }

/** Applies an update event: fields with `from` or `to` get the new value, and fields without `to` are removed. */
export const changed = <T extends object>(before: T, update: Update<T>): T => {
  const after = { ...before } as Record<string, unknown>
  for (const [field, value] of Object.entries(update)) {
    if (value === null || typeof value !== 'object' || !('to' in value || 'from' in value)) continue
    if ('to' in value) after[field] = value.to
    else delete after[field]
  }
  return after as T
}

/** Returns the list with the part of this id replaced. */
export const replaced = <T extends { readonly id: string }>(
  list: readonly T[],
  id: string,
  by: (part: T) => T,
): readonly T[] => list.map((part) => (part.id === id ? by(part) : part))

/** Returns the list without the part of this id. */
export const without = <T extends { readonly id: string }>(list: readonly T[], id: string): readonly T[] =>
  list.filter((part) => part.id !== id)

/** Returns the parts in rank order after the moves. `also` is applied to the moved parts. */
export const moved = <T extends { readonly id: string; readonly rank: number }>(
  list: readonly T[],
  moves: readonly { readonly id: string; readonly to: number }[],
  also: Partial<T> = {},
): readonly T[] => {
  const to = new Map(moves.map((move) => [move.id, move.to]))
  return list
    .map((part) => (to.has(part.id) ? { ...part, ...also, rank: to.get(part.id)! } : part))
    .sort((a, b) => a.rank - b.rank)
}
