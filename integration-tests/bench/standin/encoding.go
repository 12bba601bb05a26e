package standin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"
)

// objectTypes are the types of Kubernetes and of plain object metadata.
var objectTypes = func() *runtime.Scheme {
	all := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(all))
	utilruntime.Must(metav1.AddMetaToScheme(all))
	return all
}()

var codecs = serializer.NewCodecFactory(objectTypes)

// runtimeObject returns the object for encoding.
func (t storedObject) runtimeObject() runtime.Object {
	object, ok := t.object().(runtime.Object)
	if !ok {
		panic(fmt.Sprintf("%T is not an object of an API", t.record))
	}
	return object
}

// format returns the first format of a request that the server supports.
func format(r *http.Request) (runtime.SerializerInfo, error) {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		name, _, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		if name == "*/*" {
			name = runtime.ContentTypeJSON
		}
		if info, known := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), name); known && info.StreamSerializer != nil {
			return info, nil
		}
	}
	return runtime.SerializerInfo{}, errors.New("none of the accepted formats is supported")
}

// versionOf returns the group and version of an object by its Go type.
func versionOf(object runtime.Object) (schema.GroupVersion, error) {
	all, _, err := objectTypes.ObjectKinds(object)
	if err != nil {
		return schema.GroupVersion{}, err
	}
	return all[0].GroupVersion(), nil
}

func reply(w http.ResponseWriter, r *http.Request, code int, object runtime.Object) {
	info, err := format(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotAcceptable)
		return
	}
	version, err := versionOf(object)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	body, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, version), object)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", info.MediaType)
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client may have disconnected
}

// replyError answers with the Status of an error, as API servers do.
func replyError(w http.ResponseWriter, r *http.Request, err error) {
	statusErr, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		statusErr = apierrors.NewInternalError(err)
	}
	status := statusErr.Status()
	reply(w, r, int(status.Code), &status)
}

// decode decodes the object in the body of a request.
func decode(r *http.Request) (runtime.Object, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	object, err := runtime.Decode(codecs.UniversalDeserializer(), body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return object, nil
}

func decodeAs[T runtime.Object](r *http.Request) (T, error) {
	object, err := decode(r)
	if err != nil {
		var none T
		return none, err
	}
	typed, ok := object.(T)
	if !ok {
		return typed, apierrors.NewBadRequest(fmt.Sprintf("unexpected object %T", object))
	}
	return typed, nil
}

// deleteOptions decodes the delete options of a request, which may have none.
func deleteOptions(r *http.Request) (*metav1.DeleteOptions, error) {
	if r.ContentLength == 0 {
		return &metav1.DeleteOptions{}, nil
	}
	return decodeAs[*metav1.DeleteOptions](r)
}

// stream is the answer to a watch. After the first failure it does nothing.
type stream struct {
	encoder *restwatch.Encoder
	buffer  *bufio.Writer
	flusher http.Flusher
	err     error
}

func newStream(w http.ResponseWriter, r *http.Request, resource resource) (*stream, error) {
	info, err := format(r)
	if err != nil {
		return nil, err
	}
	flusher, ok := w.(http.Flusher)
	if !ok {
		return nil, errors.New("the connection cannot be flushed")
	}
	const size = 64 << 10
	buffer := bufio.NewWriterSize(w, size)
	frames := info.StreamSerializer.Framer.NewFrameWriter(buffer)
	kind := info.MediaType
	if kind != runtime.ContentTypeJSON {
		kind += ";stream=watch"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(http.StatusOK)
	return &stream{
		encoder: restwatch.NewEncoder(
			streaming.NewEncoder(frames, codecs.EncoderForVersion(info.StreamSerializer.Serializer, corev1.SchemeGroupVersion)), // the event around an object has no version
			codecs.EncoderForVersion(info.Serializer, resource.version)),
		buffer: buffer, flusher: flusher,
	}, nil
}

func (s *stream) send(eventType watch.EventType, object runtime.Object) {
	if s.err == nil {
		s.err = s.encoder.Encode(&watch.Event{Type: eventType, Object: object})
	}
}

// flush sends the buffered events and reports whether the client is still connected.
func (s *stream) flush() bool {
	if s.err == nil {
		s.err = s.buffer.Flush()
	}
	if s.err == nil {
		s.flusher.Flush()
	}
	return s.err == nil
}
