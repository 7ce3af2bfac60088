import { Type } from 'typebox'
import { invalid, refuse } from '../../base/errors.ts'
import { text } from './fields.ts'
import { type Field, instantOf } from './value.ts'

const UINT64 = 2n ** 64n

/** Parses a decimal unsigned 64-bit number; undefined if invalid. */
export const positionOf = (text: string): bigint | undefined => {
  const position = /^\d{1,20}$/.test(text) ? BigInt(text) : UINT64
  return position < UINT64 ? position : undefined
}

/**
 * Parses `at=`: an instant (RFC 3339 UTC text with milliseconds) or a position. Refuses other texts with 400
 * `invalid_at`. The log reader checks that the moment is in the past.
 */
export const atOf = (
  text: string | undefined,
  name = 'at',
): { readonly instant: string } | { readonly position: bigint } | undefined => {
  if (text === undefined || text === '') return undefined
  const position = positionOf(text)
  if (position !== undefined) return { position }
  const instant = instantOf(text)
  if (instant !== undefined) return { instant }
  const description = 'must be an RFC 3339 timestamp or a position'
  return refuse('invalid_at', `invalid field ${name}: ${description}`, { violation: { field: name, description } })
}

const atText = text({ stored: false })

/** Moment in `at=`; absent is the present. */
export const atMoment: Field<ReturnType<typeof atOf>> = {
  schema: atText.schema,
  optional: true,
  read: (value, name) => atOf(atText.read(value, name), name),
}

/** An instant as RFC 3339 text, converted to UTC with milliseconds. Positions are refused with 400 `invalid_at`. */
export const instant: Field<string | undefined> = {
  schema: Type.String({ format: 'date-time' }),
  optional: true,
  read: (value, name) => {
    const given = atText.read(value, name)
    if (given === '') return undefined
    return instantOf(given) ?? invalid(name, 'must be an RFC 3339 timestamp', 'invalid_at')
  },
}

/** Canonical text of a moment; empty for the present. */
export const momentText = (at: ReturnType<typeof atOf>): string =>
  at === undefined ? '' : 'instant' in at ? at.instant : String(at.position)
