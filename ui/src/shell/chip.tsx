import { tip } from '../parts/feedback/tip.ts'

/** Badge about this deployment in the top bar, with a tooltip. */
export const Chip = ({ word, why }: { readonly word: string; readonly why: string }) => (
  <button type="button" className="badge warn" {...tip(why)}>
    {word}
  </button>
)
