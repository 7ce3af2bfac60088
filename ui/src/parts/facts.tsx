import { Fragment, type ReactNode } from 'react'
import { CodeText, Safe } from './feedback/safe.tsx'

/** Values by name. A name without a value is not shown. */
export type FactsOf = Readonly<Record<string, ReactNode>>

/** List of facts. */
export const Facts = ({ label, of }: { readonly label?: string; readonly of: FactsOf }) => (
  <dl className="about-list" aria-label={label}>
    {Object.entries(of).map(
      ([name, value]) =>
        value !== undefined && (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
    )}
  </dl>
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
              <CodeText text={value} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
