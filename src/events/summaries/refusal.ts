import type { refusalEvents } from '../refusal.ts'
import { counted, plain, type Summaries } from './sentence.ts'

const between = ({ from, to }: { readonly from: string; readonly to: string }) =>
  `between ${plain(from)} and ${plain(to)}`

/** Summaries of the events of refused requests. */
export const refusalSummaries: Summaries<typeof refusalEvents> = {
  AuthenticationRefused: ({ reason, route, more }) =>
    `refused: ${plain(reason)} at ${plain(route) || 'an unknown route'}${more > 0 ? `, ${more} more like it` : ''}`,
  RefusalsSummarised: (data) => `${counted(data.total, 'request')} refused ${between(data)}`,
  LoginsBegun: (data) => `${counted(data.total, 'login')} begun ${between(data)}`,
}
