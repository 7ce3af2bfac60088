import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { EventLog, Stored } from '../../events/log.ts'
import type { AnyProjection } from '../projection.ts'
import type { Checkpoint, Row, View } from '../views.ts'

/** Sources of the rows of a log projection: the log, and the existing rows of the given keys. */
export type Sources = {
  readonly log: Pick<EventLog, 'read' | 'readAll'>
  readonly find: <D extends object>(keys: readonly string[]) => Promise<readonly Row<D>[]>
}

/**
 * A read model of the log itself: returns the rows of the events directly after a checkpoint. The rows do not depend on
 * the writer or on repeated writes. A missing row only makes queries slower.
 */
export type LogProjection = View & {
  /** Number of events in a block, if the read model is brought forward in the background by whole blocks. */
  readonly block?: number
  readonly rowsOf: (sources: Sources, from: Checkpoint, page: readonly Stored[]) => Promise<readonly Row[]>
}

/** A read model of any kind. */
export type ReadModel = AnyProjection | LogProjection

export const isLogProjection = (model: ReadModel): model is LogProjection => 'rowsOf' in model

/** A document with a MAC over its content. */
export type Sealed<D> = D & { readonly mac: string }

/** Adds and verifies the MACs of documents of one kind. `content`: a text that differs for different documents. */
export const seals = <D extends object>(key: Uint8Array, kind: string, content: (doc: D) => string) => {
  const own = createSecretKey(createHmac('sha256', key).update(`rollcall ${kind}`).digest())
  const macOf = (doc: D) => createHmac('sha256', own).update(content(doc)).digest('base64url')
  return {
    seal: (doc: D): Sealed<D> => ({ ...doc, mac: macOf(doc) }),
    holds: (doc: Sealed<D>): boolean => {
      const [given, due] = [Buffer.from(doc.mac), Buffer.from(macOf(doc))]
      return given.length === due.length && timingSafeEqual(given, due)
    },
  }
}
