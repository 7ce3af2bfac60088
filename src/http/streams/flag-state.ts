import { viewBehind } from '../../as-of/reads.ts'
import type { CommandServices } from '../services/commands.ts'
import type { EvaluationServices } from '../services/flags.ts'

/** Time in ms in which this instance may receive an event that another one has sent. */
const WAIT_MS = 2_000

/** State of the flags and segments of a namespace: its tag, and the position of its newest event. */
type FlagState = { readonly tag: string; readonly position: bigint }

/**
 * The present state of a namespace. Its tag contains the position, so that another instance can wait for it. An
 * unreadable namespace has a tag too.
 */
export const flagStateOf = (
  { version, position }: Pick<EvaluationServices['flagStore'], 'version' | 'position'>,
  namespace: string,
): FlagState => {
  const at = position(namespace)
  try {
    return { tag: `${(version(namespace) ?? 0n).toString(36)}.${at}`, position: at }
  } catch {
    return { tag: `closed.${at}`, position: at }
  }
}

type States = Pick<EvaluationServices, 'flagStore' | 'seen'> & Pick<CommandServices, 'log'>

/**
 * True if a client has received the event about the present state, by its `Last-Event-ID` (api.md §10.1). If another
 * instance has sent a later event, this instance waits for it, at most 2 s.
 */
export const hasPresentState = async (
  { flagStore, log, seen }: States,
  namespace: string,
  lastEventId: string,
): Promise<boolean> => {
  if (!/^\d{1,19}$/.test(lastEventId)) return false
  const received = BigInt(lastEventId)
  if (received > flagStateOf(flagStore, namespace).position && received <= (await log.head()))
    await seen(received, WAIT_MS)
  return received === flagStateOf(flagStore, namespace).position
}

/** State that a client has received from an event stream (api.md §10). */
type FlagConfig = { readonly flagConfigEtag: string; readonly flagConfigLastModified: string }

const positionIn = (tag: string): bigint | undefined => {
  const digits = /\.(\d{1,19})$/.exec(tag)?.[1]
  return digits === undefined ? undefined : BigInt(digits)
}

/**
 * Waits until this instance has seen the state that an event stream announced, at most 2 s; then refuses with 503
 * `view_behind`. For a tag of another form, the instance waits for the newest event of the log.
 */
export const flagConfigSeen = ({ flagStore, log, seen }: States) => {
  const reached = async (tag: string): Promise<void> => {
    const head = await log.head()
    const given = positionIn(tag)
    const position = given !== undefined && given < head ? given : head
    if (!(await seen(position, WAIT_MS))) viewBehind(position)
  }
  return (namespace: string, { flagConfigEtag, flagConfigLastModified }: FlagConfig): Promise<void> | undefined => {
    if (flagConfigEtag === '' && flagConfigLastModified === '') return undefined
    return flagConfigEtag === flagStateOf(flagStore, namespace).tag ? undefined : reached(flagConfigEtag)
  }
}
