{{- define "ra.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "ra.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ra.labels" -}}
{{ include "ra.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "ra.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "ra.name" .) }}
{{- end -}}

{{/* Of a dict with `image` and `root`. */}}
{{- define "ra.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "ra.source" -}}
kafka:{{ required "kafka.bootstrapServers must be set" .Values.kafka.bootstrapServers }}
{{- end -}}

{{/* The configuration file: what the values say of Kafka, and `config` over it. */}}
{{- define "ra.config" -}}
{{- $kafka := dict "options" .Values.kafka.options -}}
{{- $own := dict "cluster" .Values.cluster "source" (dict "kafka" $kafka) -}}
{{- mergeOverwrite $own (deepCopy .Values.config) | toToml -}}
{{- end -}}

{{- define "ra.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "ra.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* What every pod has: scheduling, and who may pull the image. */}}
{{- define "ra.pod" -}}
serviceAccountName: {{ include "ra.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext: {{ include "ra.podSecurity" . | nindent 2 }}
{{- end -}}

{{- define "ra.mounts" -}}
- {name: config, mountPath: /etc/rebalance-audit, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .Values.kafka.existingSecret }}
- {name: kafka, mountPath: /run/secrets/kafka, readOnly: true}
{{- end }}
{{- end -}}

{{- define "ra.volumes" -}}
- name: config
  configMap:
    name: {{ include "ra.name" . }}-config
- name: tmp
  emptyDir: {}
{{- if .Values.kafka.existingSecret }}
- name: kafka
  secret:
    secretName: {{ .Values.kafka.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- end -}}
