import { useState } from 'react'
import { type Failure, isFailure } from '../api/failure.ts'
import { Button } from '../parts/button.tsx'
import { FailureAlert } from '../parts/feedback/alert.tsx'
import { TextArea } from '../parts/fields/field.tsx'
import { integrity as words } from '../words/integrity.ts'
import { type Comparison, compareSaved } from './compare-saved.ts'

/** Maximum size in bytes of a file with a checkpoint. */
const MAX_BYTES = 65_536

const Result = ({ comparison }: { readonly comparison: Comparison }) => {
  if (comparison.kind === 'extended') return <p role="status">{words.saved.extended(comparison)}</p>
  const { kind } = comparison
  return (
    <div role="alert" className="alert">
      <p>{kind === 'unlike' ? words.saved.unlike(comparison) : words.saved[kind]}</p>
    </div>
  )
}

/** Compares a checkpoint that was saved earlier with the newest one. */
export const SavedCheckpoint = () => {
  const [text, setText] = useState('')
  const [comparing, setComparing] = useState(false)
  const [comparison, setComparison] = useState<Comparison | undefined>()
  const [failure, setFailure] = useState<Failure | undefined>()
  const compare = async (given: string) => {
    setText(given)
    setComparison(undefined)
    setFailure(undefined)
    setComparing(true)
    try {
      setComparison(await compareSaved(given))
    } catch (error) {
      if (!isFailure(error)) throw error
      setFailure(error)
    } finally {
      setComparing(false)
    }
  }
  const take = async (file: File | undefined) => {
    if (file) await compare(await file.slice(0, MAX_BYTES).text())
  }
  return (
    <section className="stack">
      <h3>{words.saved.heading}</h3>
      <p className="muted">{words.saved.about}</p>
      <TextArea label={words.saved.field} rows={4} mono value={text} onChange={setText} />
      <div className="bar">
        <Button
          why={text.trim() === '' ? words.saved.none : undefined}
          busy={comparing ? words.saved.comparing : undefined}
          onClick={() => void compare(text)}
        >
          {words.saved.compare}
        </Button>
        <input
          type="file"
          className="input"
          aria-label={words.saved.file}
          onChange={({ target }) => void take(target.files?.[0])}
        />
      </div>
      {comparison && <Result comparison={comparison} />}
      {failure && <FailureAlert title={words.saved.failed} failure={failure} />}
    </section>
  )
}
