import { isFailure } from '../../api/failure.ts'
import { keys } from '../../api/keys.ts'
import { nameOf, readToken, readTokens } from '../../api/tokens.ts'
import { identityOf } from '../../identity.ts'
import { KeyField } from '../../parts/fields/key-field.tsx'
import { useRecord } from '../../parts/record-link.tsx'
import { review as words } from '../../words/review.ts'

const SHOWN = 20
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Finds static tokens by the begin of their name, and every record by its id. */
const find = async (typed: string, at: string | undefined, signal: AbortSignal) => {
  const text = typed.trim()
  if (!ID.test(text)) {
    const { authentications } = await readTokens({ kind: 'static', q: text, limit: SHOWN, at }, signal)
    return authentications.map((record) => ({ key: record.id, name: nameOf(record) }))
  }
  const id = text.toLowerCase()
  try {
    return [{ key: id, name: identityOf(await readToken(id, at, signal)) }]
  } catch (error) {
    if (isFailure(error) && error.status === 404) return []
    throw error
  }
}

/** Field to choose one token; without one the question is about all tokens. */
export const TokenField = ({
  value,
  at,
  onChange,
}: {
  readonly value: string
  readonly at: string | undefined
  readonly onChange: (id: string) => void
}) => {
  const record = useRecord(value === '' ? undefined : value)
  return (
    <KeyField
      label={words.token}
      wrong={undefined}
      value={value}
      onChange={onChange}
      source={{ queryKey: [...keys.tokens, 'choice', at], read: (typed, signal) => find(typed, at, signal) }}
      words={{ open: words.openTokens, none: words.noToken }}
      all={words.anyToken}
      shown={record ? identityOf(record) : value.slice(0, 8)}
    />
  )
}
