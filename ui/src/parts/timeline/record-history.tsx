import { history } from '../../words/history.ts'
import { OwnTimeline } from './own-timeline.tsx'

/** Section with the events about and by one token or session. */
export const RecordHistory = ({ id }: { readonly id: string }) => (
  <section className="tight">
    <h2>{history.heading}</h2>
    <OwnTimeline filter={{ tokenId: id }} />
  </section>
)
