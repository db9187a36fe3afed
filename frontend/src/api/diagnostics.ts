/** The diagnostic bundle of a pipeline as a file; the server names it. */
export const diagnosticsUrl = (pipeline: string) =>
  `/api/v1/pipelines/${encodeURIComponent(pipeline)}/diagnostics`

/** That of the installation. */
export const INSTALLATION_DIAGNOSTICS_URL = '/api/v1/diagnostics'
