import type { ReactNode } from 'react'
import { Safe } from './feedback/safe.tsx'

/** Name and value in a list of facts. */
export const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
)

/** Metadata of a record as plain text, without images and links. */
export const Metadata = ({
  heading,
  none,
  pairs,
}: {
  readonly heading: string
  readonly none: string
  readonly pairs: Readonly<Record<string, string>>
}) => {
  const sorted = Object.entries(pairs).sort(([one], [other]) => (one < other ? -1 : 1))
  return (
    <section className="tight">
      <h2>{heading}</h2>
      {sorted.length === 0 ? (
        <p className="muted">{none}</p>
      ) : (
        <ul className="tight" aria-label={heading}>
          {sorted.map(([key, value]) => (
            <li key={key}>
              <div className="muted small">
                <Safe text={key} />
              </div>
              <code>
                <Safe text={value} />
              </code>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
