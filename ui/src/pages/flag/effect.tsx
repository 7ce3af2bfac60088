import { Fragment } from 'react'
import { Safe } from '../../parts/feedback/safe.tsx'
import { flag as words } from '../../words/flag.ts'
import { rule as ruleWords } from '../../words/variant.ts'
import type { Draft } from './draft.ts'
import { PortionBar, Portions } from './portions.tsx'
import { keyOf } from './sentences.ts'
import { rulePortionsOf, type VariantPortion } from './shares.ts'

const SHADES = 4

/**
 * Distribution of variants by rule and for unmatched entities, as bars and text. The shade of a variant depends on its
 * index in `known`.
 */
const RulePortions = ({
  name,
  draft,
  known,
}: {
  readonly name: string
  readonly draft: Draft
  /** Ids of the variants on either side of the change. */
  readonly known: readonly string[]
}) => {
  const all = rulePortionsOf(draft)
  const shadeOf = (variant: string) => (variant === '' ? undefined : known.indexOf(variant) % SHADES)
  const inWords = ({ size, variant, rest }: VariantPortion): string =>
    ruleWords.effect.portion(String(size), variant === '' ? undefined : keyOf(draft.variants, variant), rest)
  return (
    <figure className="tight" aria-label={name}>
      <div className="rule-portions">
        {all.map(({ portions }, n) => (
          <PortionBar key={n} pieces={portions.map(({ size, variant }) => ({ size, shade: shadeOf(variant) }))} />
        ))}
      </div>
      <figcaption className="tight muted small">
        <dl className="about-list">
          {all.map(({ rule, portions }, n) => (
            <Fragment key={n}>
              <dt>{ruleWords.effect.place(rule, all.length === 1)}</dt>
              <dd className="facts">
                {portions.map((portion, at) => (
                  <span key={at} className="shaded">
                    <span className="swatch" data-shade={shadeOf(portion.variant)} aria-hidden="true" />
                    <Safe text={inWords(portion)} />
                  </span>
                ))}
              </dd>
            </Fragment>
          ))}
        </dl>
        {all.length > 1 && <p>{ruleWords.effect.even}</p>}
      </figcaption>
    </figure>
  )
}

/** Distribution of answers before and after the draft. */
export const Effect = ({ start, draft }: { readonly start: Draft; readonly draft: Draft }) => {
  const known = [...new Set([...start.variants, ...draft.variants].map(({ id }) => id))]
  return [
    { name: words.before, of: start },
    { name: words.after, of: draft },
  ].map(({ name, of }) => (
    <Fragment key={name}>
      <h3>{name}</h3>
      {of.boolean ? <Portions name={name} draft={of} /> : <RulePortions name={name} draft={of} known={known} />}
    </Fragment>
  ))
}
