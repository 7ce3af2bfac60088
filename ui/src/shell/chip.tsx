import { tip } from '../parts/feedback/tip.ts'

/** A word about this deployment in the bar on top, with what it means. */
export const Chip = ({ word, why }: { readonly word: string; readonly why: string }) => (
  <button type="button" className="badge warn" {...tip(why)}>
    {word}
  </button>
)
