import { createHmac, timingSafeEqual } from 'node:crypto'
import type { EventLog, Stored } from '../../events/log.ts'
import type { AnyProjection } from '../projection.ts'
import type { Checkpoint, Row, View } from '../views.ts'

/** What rows of a chronicle are made from: the log, and the rows that there are of these keys. */
export type Sources = {
  readonly log: Pick<EventLog, 'read' | 'readAll'>
  readonly find: <D extends object>(keys: readonly string[]) => Promise<readonly Row<D>[]>
}

/**
 * A read model of the log itself, that finds places in it: which rows come of events that lie right behind a checkpoint. Who makes them
 * and how often says nothing about them, and one that is missing costs time alone.
 */
export type LogProjection = View & {
  readonly rowsOf: (sources: Sources, from: Checkpoint, page: readonly Stored[]) => Promise<readonly Row[]>
}

/** Whatever is kept in the views. */
export type ReadModel = AnyProjection | LogProjection

export const isLogProjection = (model: ReadModel): model is LogProjection => 'rowsOf' in model

/** A document whose facts nobody can have changed who does not have the key. */
export type Sealed<D> = D & { readonly mac: string }

/** Seals documents of one kind, and tells whether one is as it was sealed. */
export const seals = <D extends object>(key: Uint8Array, kind: string, facts: (doc: D) => readonly unknown[]) => {
  const own = createHmac('sha256', key).update(`rollcall ${kind}`).digest()
  const macOf = (doc: D) =>
    createHmac('sha256', own)
      .update(JSON.stringify(facts(doc)))
      .digest('base64url')
  return {
    seal: (doc: D): Sealed<D> => ({ ...doc, mac: macOf(doc) }),
    holds: (doc: Sealed<D>): boolean => {
      const [given, due] = [Buffer.from(doc.mac), Buffer.from(macOf(doc))]
      return given.length === due.length && timingSafeEqual(given, due)
    },
  }
}
