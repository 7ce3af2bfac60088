import { useLocation, useParams } from '@tanstack/react-router'
import type { Thing } from './links.ts'
import { lastNamespace } from './preferences.ts'

/** Filters of the history that find the events of the open page. */
type EventScope = Readonly<Record<string, string>>

/** Returns the flag or segment whose page is open; undefined on other pages. */
export const useOpenThing = (): Thing | undefined => {
  const { ns, key } = useParams({ strict: false })
  const section = useLocation({ select: ({ pathname }) => /^\/ns\/[^/]+\/(flag|segment)s\/./.exec(pathname)?.[1] })
  if (section === undefined || ns === undefined || key === undefined) return undefined
  return { kind: section as Thing['kind'], namespace: ns, key }
}

/** Events of flags, segments and namespaces that no client sees as a change. */
const QUIET = ['FlagRegistered', 'FlagUnregistered', 'SegmentAttached', 'SegmentDetached', 'ReservationVoided']

/** Returns the filters for the events of the open flag, segment or token, else of the namespace (ui.md §11.10). */
export const useEventScope = (): EventScope => {
  const thing = useOpenThing()
  const { ns = lastNamespace(), id } = useParams({ strict: false })
  if (id !== undefined) return { tokenId: id }
  const loud = { type: QUIET.map((type) => `!${type}`).join(',') }
  if (thing) return { ...loud, namespaceKey: thing.namespace, [`${thing.kind}Key`]: thing.key }
  return { ...loud, namespaceKey: ns, category: 'flag,segment,namespace' }
}
