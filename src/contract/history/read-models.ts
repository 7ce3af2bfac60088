import { Type } from 'typebox'
import { named, type Shown, Text } from '../answer.ts'

/** First line of the rows of a read model (api.md §16.19). `position`: every event up to it is in the rows. */
export const ReadModel = named('ReadModel', { name: Text, version: Type.Integer(), position: Text })
export type ReadModel = Shown<typeof ReadModel>

/** A row of a read model (api.md §16.19). `position`: that of the last applied event. */
export type ReadModelRow = { readonly key: string; readonly position: string; readonly sha256: string }
