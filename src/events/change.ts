import { type TSchema, Type } from 'typebox'
import { canonical } from './canonical.ts'

/** A field of an update event: present only where the value changed, with what it was and what it became. It is described as the value is. */
export const change = <S extends TSchema>(schema: S) =>
  Type.Optional(Type.Object({ from: schema, to: schema }, { change: true }))

/** The same of a value that may be none: the side where it is none is absent. */
export const changeOfOptional = <S extends TSchema>(schema: S) =>
  Type.Optional(Type.Object({ from: Type.Optional(schema), to: Type.Optional(schema) }, { change: true }))

export type Changes<T> = { readonly [K in keyof T]?: { readonly from: T[K]; readonly to: T[K] } }

/** The fields of `to` whose values differ from those of `from` (by canonical JSON), or undefined when none does. A field that is undefined in `to` is kept. */
export const changes = <T extends object>(
  from: T,
  to: { readonly [K in keyof T]?: T[K] | undefined },
): (Changes<T> & object) | undefined => {
  const found: { [K in keyof T]?: { from: T[K]; to: T[K] } } = {}
  let any = false
  for (const field of Object.keys(to) as (keyof T)[]) {
    const value = to[field]
    if (value === undefined || canonical(value) === canonical(from[field])) continue
    found[field] = { from: from[field], to: value }
    any = true
  }
  return any ? found : undefined
}

type Update<T> = { readonly [K in keyof T]?: T[K] | { readonly from?: T[K]; readonly to?: T[K] } | undefined }

/** The thing after an update event: every field that the event gives as from and to has the new value; one without `to` is gone. */
export const changed = <T extends object>(before: T, update: Update<T>): T => {
  const after = { ...before } as Record<string, unknown>
  for (const [field, value] of Object.entries(update)) {
    if (value === null || typeof value !== 'object' || !('to' in value || 'from' in value)) continue
    if ('to' in value) after[field] = value.to
    else delete after[field]
  }
  return after as T
}

/** The list with the part of this id replaced; the same list when there is none. */
export const replaced = <T extends { readonly id: string }>(
  list: readonly T[],
  id: string,
  by: (part: T) => T,
): readonly T[] => list.map((part) => (part.id === id ? by(part) : part))

/** The list without the part of this id. */
export const without = <T extends { readonly id: string }>(list: readonly T[], id: string): readonly T[] =>
  list.filter((part) => part.id !== id)

/** The parts by rank, those that moved under their new ranks and with `also` applied. */
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
