import type { AnyEvent } from '../events/define.ts'
import type { Actor } from '../events/meta.ts'
import type { At, Projection } from './projection.ts'

/** When a document or any part of it was last changed, RFC 3339 UTC with milliseconds, and by whom, where the event says it. */
export type LastChange = { readonly changedAt: string; readonly changedBy?: Actor }

/** Who wrote an event. Metadata that is damaged says nobody: an event is read by its data. */
const actorOf = (meta: string): Actor | undefined => {
  try {
    return (JSON.parse(meta) as { readonly actor?: Actor } | null)?.actor
  } catch {
    return undefined
  }
}

type Folds<D extends object, E extends AnyEvent> = Projection<D, E>['on']
/** The folds of a document: its last change is none of theirs. */
type Unstamped<D extends object, E extends AnyEvent> = {
  readonly [K in E['type']]: (
    ...[doc, data, at]: Parameters<Folds<D, E>[K]>
  ) => D | Omit<D, keyof LastChange> | undefined
}
type Fold<D extends object> = (doc: D | undefined, data: unknown, at: At) => D | undefined

/** The folds of a document that keeps its last change: each event but the quiet ones is one. */
export const stamped = <D extends LastChange, E extends AnyEvent>(
  quiet: ReadonlySet<string>,
  folds: Unstamped<D, E>,
): Folds<D, E> => {
  const stamp =
    (fold: Fold<D>): Fold<D> =>
    (doc, data, at) => {
      const next = fold(doc, data, at)
      if (!next) return undefined
      const changedBy = actorOf(at.meta)
      if (changedBy) return { ...next, changedAt: at.time, changedBy }
      const { changedBy: _before, ...rest } = next
      return { ...rest, changedAt: at.time } as D
    }
  const all = Object.entries(folds as unknown as Readonly<Record<string, Fold<D>>>)
  return Object.fromEntries(all.map(([type, fold]) => [type, quiet.has(type) ? fold : stamp(fold)])) as Folds<D, E>
}
