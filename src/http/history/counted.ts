import type { Call } from '../route/route.ts'
import type { RecordingServices } from '../services/recording.ts'

/** Counts a read of the history that returns `events` events (api.md §16.6). A HEAD request is not recorded. */
export const countReading = (
  { historyReads }: Pick<RecordingServices, 'historyReads'>,
  { caller, route, request }: Call<unknown, unknown>,
  events: number,
  format = 'json',
): void => {
  if (request.method !== 'HEAD') historyReads.counted(caller.actor, { route, format, events, opened: false })
}
