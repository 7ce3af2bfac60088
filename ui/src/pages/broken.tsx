import type { ErrorComponentProps } from '@tanstack/react-router'
import { Button } from '../parts/button.tsx'
import { states } from '../words/common.ts'

/** Error boundary of a page; the shell around it keeps working. */
export const Broken = ({ error }: ErrorComponentProps) => (
  <div className="stack" role="alert">
    <h1>{states.broken}</h1>
    <p>
      <code>{error instanceof Error ? error.name : String(error)}</code>
    </p>
    <div>
      <Button look="primary" onClick={() => window.location.reload()}>
        {states.reloadPage}
      </Button>
    </div>
  </div>
)

/** Error boundary outside of all pages. */
export const BrokenAlone = (props: ErrorComponentProps) => (
  <main className="content">
    <Broken {...props} />
  </main>
)
