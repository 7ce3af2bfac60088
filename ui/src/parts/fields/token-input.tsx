import type { RefObject } from 'react'
import { isMistyped } from '../../client-token.ts'
import { fields } from '../../words/common.ts'
import { login } from '../../words/login.ts'

/** Returns the client token in a field, without the white space of a copy. */
export const tokenIn = ({ value }: HTMLInputElement): string => value.replaceAll(/\s+/g, '')

/** Returns what is wrong with a client token; undefined if it can be sent. */
export const flawOf = (token: string): string | undefined => {
  if (token === '') return fields.tokenEmpty
  return isMistyped(token) ? login.mistyped : undefined
}

/** Input for a client token. It keeps its value itself, so that no state of the page contains the token. */
export const TokenInput = ({
  field,
  id,
  shown = false,
  wrong,
  describedBy,
}: {
  readonly field: RefObject<HTMLInputElement | null>
  readonly id: string
  readonly shown?: boolean
  readonly wrong: string | undefined
  readonly describedBy: string | undefined
}) => (
  <input
    ref={field}
    id={id}
    className="input mono"
    type={shown ? 'text' : 'password'}
    autoComplete="off"
    spellCheck={false}
    autoCapitalize="off"
    aria-invalid={wrong !== undefined || undefined}
    aria-describedby={describedBy}
  />
)
