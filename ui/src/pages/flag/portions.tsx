import { flag as words } from '../../words/flag.ts'
import type { Draft } from './draft.ts'
import { type Portion, portionsOf } from './shares.ts'

const inWords = ({ size, value, rest }: Portion): string => {
  const percentage = String(Number(size.toFixed(2)))
  return rest ? words.rest(percentage, value) : words.portion(percentage, value)
}

/** What entities get, as a bar and in words; what segments may decide otherwise is hatched. */
export const Portions = ({ name, draft }: { readonly name: string; readonly draft: Draft }) => {
  const portions = portionsOf(draft)
  const said = words.portions(portions.map(inWords))
  return (
    <figure className="tight" aria-label={name}>
      <div className="portions" aria-hidden="true">
        {portions.map((portion, n) => (
          <span
            key={n}
            data-value={portion.value}
            data-depends={portion.depends || undefined}
            style={{ flexGrow: portion.size }}
          />
        ))}
      </div>
      <figcaption className="muted small">
        <p>{said}</p>
        {portions.some(({ depends }) => depends) && <p>{words.depends}</p>}
      </figcaption>
    </figure>
  )
}
