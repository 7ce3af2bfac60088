import type { TObject, TSchema } from 'typebox'
import type { Raw } from './value.ts'

/**
 * One field of a request: its JSON Schema for the documentation, and its reader (api.md §1.1). A field that is
 * undefined or null counts as absent. `query` is the reader for query parameters, if it differs.
 */
export type Field<T> = {
  readonly schema: TSchema
  readonly optional?: boolean
  readonly read: (value: unknown, name: string) => T
  readonly query?: (text: string, name: string) => T
}

/** Input of a request: its JSON Schema, and the reader of the raw form. `under` is the name of the enclosing object. */
export type Input<T, From = Raw> = { readonly schema: TObject; readonly read: (raw: From, under?: string) => T }
