import { flag as words } from '../../words/flag.ts'
import type { Draft } from './draft.ts'
import { givesOf, type Portion, portionsOf } from './shares.ts'

const inWords = ({ size, value, rest }: Portion): string => {
  const percentage = String(Number(size.toFixed(2)))
  return rest ? words.rest(percentage, value) : words.portion(percentage, value)
}

/** Piece of a bar: its length and shade; without a shade it recedes. */
type Piece = { readonly size: number; readonly shade: number | undefined; readonly depends?: boolean }

/** Bar of shares, hidden from assistive technology. */
export const PortionBar = ({ pieces }: { readonly pieces: readonly Piece[] }) => (
  <div className="portions" aria-hidden="true">
    {pieces.map(({ size, shade, depends }, n) => (
      <span key={n} data-shade={shade} data-depends={depends || undefined} style={{ flexGrow: size }} />
    ))}
  </div>
)

/** Distribution of answers over all entities, as a bar and text. Portions that segments can override are hatched. */
export const Portions = ({ name, draft }: { readonly name: string; readonly draft: Draft }) => {
  const portions = portionsOf(draft)
  const text = words.portions(portions.map(inWords))
  const { enabled, rollouts } = draft
  const still = words.stillTrue({ type: 'BOOLEAN_FLAG_TYPE', enabled, rollouts: rollouts.map(givesOf) })
  return (
    <figure className="tight" aria-label={name}>
      <PortionBar
        pieces={portions.map(({ size, value, depends }) => ({ size, shade: value ? 0 : undefined, depends }))}
      />
      <figcaption className="muted small">
        <p>{text}</p>
        {still !== '' && <p>{words.still(still)}</p>}
        {portions.some(({ depends }) => depends) && <p>{words.depends}</p>}
      </figcaption>
    </figure>
  )
}
