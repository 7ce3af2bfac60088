import type { ErrorComponentProps } from '@tanstack/react-router'
import { Button } from '../parts/button.tsx'
import { states } from '../words/common.ts'

/** An error of the page itself. What is around it goes on. */
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

/** An error outside of every page. */
export const BrokenAlone = (props: ErrorComponentProps) => (
  <main className="content">
    <Broken {...props} />
  </main>
)
