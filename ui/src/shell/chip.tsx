import { Tip } from '../parts/button.tsx'

/** A word about this deployment in the bar on top, with what it means. */
export const Chip = ({ word, why }: { readonly word: string; readonly why: string }) => (
  <Tip words={why}>
    <button type="button" className="badge warn">
      {word}
    </button>
  </Tip>
)
