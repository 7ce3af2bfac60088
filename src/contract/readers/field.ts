import type { TObject, TSchema } from 'typebox'
import type { Raw } from './value.ts'

/**
 * One member of a request: its JSON Schema for the documentation, and its reader (api.md §1.1). Absent is undefined or
 * null. `query` reads a query parameter, where that differs.
 */
export type Field<T> = {
  readonly schema: TSchema
  readonly optional?: boolean
  readonly read: (value: unknown, name: string) => T
  readonly query?: (text: string, name: string) => T
}

/** What a request may carry, member by member: the JSON Schema, and the reader of the raw form. `under` names the object it stands in. */
export type Input<T, From = Raw> = { readonly schema: TObject; readonly read: (raw: From, under?: string) => T }
